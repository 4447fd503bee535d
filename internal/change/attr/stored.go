package attr

import (
	"encoding/json"
	"errors"
	"slices"
)

// Stored is a Change as data, for the journal and for another process of piton.
type Stored struct {
	Object
	Attribute Attribute `json:"attribute"`
	Before    string    `json:"before"`
	After     string    `json:"after"`
	Status    Status    `json:"status,omitempty"`
	Taken     bool      `json:"taken,omitempty"`
	Error     string    `json:"error,omitempty"`
	Marks     []string  `json:"marks,omitempty"` // what the error Is: the names of marks
	Reason    string    `json:"reason,omitempty"`
}

// marks are what the error of a change may be (errors.Is), by name.
var marks = map[string]error{"gone": ErrGone, "not_permitted": ErrNotPermitted, "not_supported": ErrNotSupported}

// Store returns the change as data.
func Store(c Change) Stored {
	s := Stored{
		Object: c.Object, Attribute: c.Attribute, Before: Text(c.Before), After: Text(c.After),
		Status: c.Status, Taken: c.Taken, Reason: c.Reason,
	}
	if c.Err != nil {
		s.Error = c.Err.Error()
	}
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
	c := Change{Object: s.Object, Attribute: s.Attribute, Status: s.Status, Taken: s.Taken, Reason: s.Reason}
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

// settingData is a setting as data: the value as Attribute.Parse reads it.
type settingData struct {
	Attribute Attribute `json:"attribute"`
	Value     string    `json:"value"`
	Path      string    `json:"path,omitempty"` // of a FileSetting
	Name      string    `json:"name,omitempty"`
}

// MarshalJSON writes {"attribute":"nice","value":"5"}.
func (s Setting) MarshalJSON() ([]byte, error) { return FileSetting{Setting: s}.MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON wrote; the error is a UsageError for a value
// that is none of its attribute's.
func (s *Setting) UnmarshalJSON(b []byte) error {
	var f FileSetting
	err := f.UnmarshalJSON(b)
	*s = f.Setting
	return err
}

// MarshalJSON writes a Setting's object with "path" and "name".
func (s FileSetting) MarshalJSON() ([]byte, error) {
	return json.Marshal(settingData{s.Attribute, Text(s.Value), s.Path, s.Name})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *FileSetting) UnmarshalJSON(b []byte) error {
	var d settingData
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	v, err := d.Attribute.Parse(d.Value)
	*s = FileSetting{Setting{d.Attribute, v}, d.Path, d.Name}
	return err
}
