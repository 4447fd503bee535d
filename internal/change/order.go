package change

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/kernel"
)

// Order is what is asked for: one of Requests, Undo, Isolate, Include and Keep. As JSON it
// is for a piton with more rights, and entries are those of that piton's journal.
type Order struct {
	Requests     []Request    `json:"requests,omitempty"`
	Undo         *UndoRequest `json:"undo,omitempty"`
	Isolate      string       `json:"isolate,omitempty"` // CPUs, a cpulist
	Include      string       `json:"include,omitempty"` // CPUs, a cpulist
	Keep         []uint64     `json:"keep,omitempty"`    // entries whose guards are told to let them stay
	Confirmation Confirmation `json:"confirmation,omitzero"`
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

// Elsewhere is the order for another piton: the requests, with the start times of the
// targets that the plan looked at. That piton has another journal, so of a plan that undoes
// entries it is the values to restore.
func (p Plan) Elsewhere() Order {
	if len(p.Undoes) > 0 {
		return Order{Requests: p.restoring()}
	}
	starts := map[kernel.TID]uint64{}
	for _, c := range p.Changes {
		starts[c.TID] = cmp.Or(starts[c.TID], c.StartTicks)
	}
	out := slices.Clone(p.Requests)
	for i := range out {
		out[i].Targets = slices.Clone(out[i].Targets)
		for k, t := range out[i].Targets {
			out[i].Targets[k].StartTicks = cmp.Or(t.StartTicks, starts[t.TID])
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

// Reply is what became of an Order: what Apply returned, as data. An Order to Keep has an
// empty Outcome.
type Reply struct {
	Outcome Outcome `json:"outcome,omitzero"`
	Error   string  `json:"error,omitempty"`
	Needs   []Need  `json:"needs,omitempty"` // of an error that Is ErrNeedsConfirmation
	OneWay  bool    `json:"one_way,omitempty"`
}

// NewReply is the Reply of what Apply returned.
func NewReply(o Outcome, err error) Reply {
	r := Reply{Outcome: o}
	if refused, ok := errors.AsType[*ConfirmationError](err); ok {
		r.Needs, r.OneWay = refused.Needs, refused.OneWay
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// Err is the error that Apply returned, nil if there was none.
func (r Reply) Err() error {
	switch {
	case len(r.Needs) > 0:
		return &ConfirmationError{r.Needs, r.OneWay}
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}
