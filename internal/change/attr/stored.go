package attr

import (
	"errors"
	"slices"

	"piton/internal/kernel"
)

// Stored is a Change as data, for the journal and for another process of piton.
type Stored struct {
	PID        kernel.TID `json:"pid,omitempty"`
	TID        kernel.TID `json:"tid,omitempty"`
	StartTicks uint64     `json:"start,omitempty"`
	Comm       string     `json:"comm,omitempty"`
	Path       string     `json:"path,omitempty"`
	Name       string     `json:"name,omitempty"`
	Attribute  Attribute  `json:"attribute"`
	Before     string     `json:"before"`
	After      string     `json:"after"`
	Status     Status     `json:"status,omitempty"`
	Taken      bool       `json:"taken,omitempty"`
	Error      string     `json:"error,omitempty"`
	Marks      []string   `json:"marks,omitempty"` // what the error Is: the names of marks
	Reason     string     `json:"reason,omitempty"`
}

// marks are what the error of a change may be (errors.Is), by name.
var marks = map[string]error{"gone": ErrGone, "not_permitted": ErrNotPermitted, "not_supported": ErrNotSupported}

// Store returns the change as data.
func Store(c Change) Stored {
	s := Stored{
		PID: c.PID, TID: c.TID, StartTicks: c.StartTicks, Comm: c.Comm, Path: c.Path, Name: c.Name, Attribute: c.Attribute,
		Before: Text(c.Before), After: Text(c.After), Status: c.Status, Taken: c.Taken, Reason: c.Reason,
	}
	if c.Err == nil {
		return s
	}
	s.Error = c.Err.Error()
	for name, mark := range marks {
		if errors.Is(c.Err, mark) {
			s.Marks = append(s.Marks, name)
		}
	}
	slices.Sort(s.Marks)
	return s
}

// Change returns the typed change. The error is for a value that its attribute cannot
// read; an attribute that this piton does not know has Opaque values.
func (s Stored) Change() (Change, error) {
	c := Change{
		Object:    Object{PID: s.PID, TID: s.TID, StartTicks: s.StartTicks, Comm: s.Comm, Path: s.Path, Name: s.Name},
		Attribute: s.Attribute, Status: s.Status, Taken: s.Taken, Reason: s.Reason,
	}
	if s.Error != "" {
		c.Err = errors.New(s.Error)
	}
	for _, name := range s.Marks {
		if mark, ok := marks[name]; ok && c.Err != nil {
			c.Err = markedError{c.Err, mark}
		}
	}
	var err error
	if c.Before, err = s.value(s.Before); err == nil {
		c.After, err = s.value(s.After)
	}
	return c, err
}

func (s Stored) value(text string) (Value, error) {
	switch {
	case !s.Attribute.Known():
		return Opaque(text), nil
	case text == "" && !s.Attribute.OfFile():
		return nil, nil // it was not known
	}
	return s.Attribute.Parse(text)
}
