package change

import (
	"encoding/json"
	"errors"
	"fmt"
)

// outcomeData is an Outcome as data. Its own fields stand for those of the Outcome that
// have the same key. Verdict follows from it.
type outcomeData struct {
	plainOutcome
	Unrecorded string      `json:"unrecorded,omitempty"`
	Guard      *otherGuard `json:"guard,omitempty"`
}

type plainOutcome Outcome // without its methods

// MarshalJSON writes all of the outcome, for another process of piton.
func (o Outcome) MarshalJSON() ([]byte, error) {
	d := outcomeData{plainOutcome: plainOutcome(o)}
	if o.Unrecorded != nil {
		d.Unrecorded = o.Unrecorded.Error()
	}
	if o.Guard != nil {
		d.Guard = &otherGuard{o.Guard.Status(), o.Guard.Words()}
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads what MarshalJSON wrote. The Guard tells its Status and Words; it
// is confirmed by an Order to the process that can.
func (o *Outcome) UnmarshalJSON(b []byte) error {
	var d outcomeData
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*o = Outcome(d.plainOutcome)
	if d.Unrecorded != "" {
		o.Unrecorded = errors.New(d.Unrecorded)
	}
	if d.Guard != nil {
		o.Guard = d.Guard
	}
	return nil
}

// otherGuard is a guard of another process's Outcome.
type otherGuard struct {
	Its   GuardStatus `json:"status"`
	Texts []string    `json:"words"`
}

var _ Guard = (*otherGuard)(nil)

func (g *otherGuard) Status() GuardStatus { return g.Its }
func (g *otherGuard) Words() []string     { return g.Texts }

// Keep fails, as Tell and Dismiss do: whoever started the guard can speak to it.
func (g *otherGuard) Keep() error {
	return fmt.Errorf("the guard of entry %d was started by another piton, which alone can confirm it", g.Its.Entry)
}

func (g *otherGuard) Dismiss() error    { return g.Keep() }
func (g *otherGuard) Stands() error     { return g.Keep() }
func (g *otherGuard) Tell([]byte) error { return g.Keep() }
