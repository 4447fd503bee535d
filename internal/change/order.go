package change

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"piton/internal/change/attr"
)

// Order is a change as data, for a piton with more rights to make: one of Requests,
// Undo, Isolate, Include and Keep. Entries are those of that piton's journal.
type Order struct {
	Requests []Request    `json:"requests,omitempty"`
	Undo     *UndoRequest `json:"undo,omitempty"`
	Isolate  string       `json:"isolate,omitempty"` // CPUs, a cpulist
	Include  string       `json:"include,omitempty"` // CPUs, a cpulist
	Keep     []uint64     `json:"keep,omitempty"`    // entries whose guards are told to let them stay
	Consent  Consent      `json:"consent,omitzero"`
}

// Check returns a UsageError for an order that asks for nothing, for several things, or
// for targets of a scope that there is not.
func (o Order) Check() error {
	n := 0
	for _, asked := range []bool{len(o.Requests) > 0, o.Undo != nil, o.Isolate != "", o.Include != "", len(o.Keep) > 0} {
		if asked {
			n++
		}
	}
	if n != 1 {
		return attr.Usagef("the order asks for %d things: it must be one", n)
	}
	for _, r := range o.Requests {
		for _, t := range r.Targets {
			if t.Scope > ScopeTree {
				return attr.Usagef("the order has target %d with scope %d, which does not exist", t.TID, t.Scope)
			}
		}
	}
	return nil
}

// Order is the plan as data: its requests, with the start times of the targets that the
// plan looked at. Another piton has another journal, so of a plan that undoes entries it
// is the values to restore.
func (p Plan) Order() Order {
	if len(p.Undoes) > 0 {
		return Order{Requests: p.restoring()}
	}
	out := slices.Clone(p.Requests)
	for i := range out {
		out[i].Targets = slices.Clone(out[i].Targets)
		for k := range out[i].Targets {
			t := &out[i].Targets[k]
			at := slices.IndexFunc(p.Changes, func(c Change) bool { return !c.IsFile() && c.TID == t.TID })
			if t.StartTicks == 0 && at >= 0 {
				t.StartTicks = p.Changes[at].StartTicks
			}
		}
	}
	return Order{Requests: out}
}

// restoring asks for what the plan would set, one by one.
func (p Plan) restoring() []Request {
	var out []Request
	for _, c := range p.Changes {
		if c.Status != attr.Planned || c.After == nil || !c.Attribute.Known() {
			continue
		}
		set := attr.Setting{Attribute: c.Attribute, Value: c.After}
		r := Request{Reason: fmt.Sprintf("undo of entries %d of another journal", p.Undoes), Restore: true}
		if c.IsFile() {
			r.Files = []attr.FileSetting{{Setting: set, Path: c.Path, Name: c.Name}}
		} else {
			r.Targets = []Target{{TID: c.TID, StartTicks: c.StartTicks, Scope: ScopeThread}}
			r.Set = []attr.Setting{set}
		}
		out = append(out, r)
	}
	return out
}

// Reply is what became of an Order: what Carry returned. An Order to Keep has an empty
// Outcome.
type Reply struct {
	Outcome Outcome
	Err     error
}

type replyData struct {
	Outcome Outcome `json:"outcome,omitzero"`
	Error   string  `json:"error,omitempty"`
	Needs   []Need  `json:"needs,omitempty"` // of an error that Is ErrNeedsConsent
}

// MarshalJSON writes {"outcome":{…},"error":"…","needs":[…]}.
func (r Reply) MarshalJSON() ([]byte, error) {
	d := replyData{Outcome: r.Outcome}
	if r.Err != nil {
		d.Error = r.Err.Error()
	}
	if refused := (*ConsentError)(nil); errors.As(r.Err, &refused) {
		d.Needs = refused.Needs
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Reply) UnmarshalJSON(b []byte) error {
	var d replyData
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*r = Reply{Outcome: d.Outcome}
	switch {
	case len(d.Needs) > 0:
		r.Err = &ConsentError{d.Needs}
	case d.Error != "":
		r.Err = errors.New(d.Error)
	}
	return nil
}
