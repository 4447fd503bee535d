package attr

import (
	"encoding/json"
	"errors"
	"slices"
)

// changeData is a Change as data, for the journal and for another process of piton. Its
// own fields stand for those of the Change that have the same key.
type changeData struct {
	plainChange
	Before string   `json:"before"`
	After  string   `json:"after"`
	Tried  []string `json:"tried,omitempty"`
	Error  string   `json:"error,omitempty"`
	Marks  []string `json:"marks,omitempty"` // what the error Is: the names of marks
}

type plainChange Change // without its methods

// marks are what the error of a change may be (errors.Is), by name.
var marks = map[string]error{"gone": ErrGone, "not_permitted": ErrNotPermitted, "not_supported": ErrNotSupported, "one_way": ErrOneWay}

// MarshalJSON writes all of the change but Widen.
func (c Change) MarshalJSON() ([]byte, error) {
	d := changeData{plainChange: plainChange(c), Before: Text(c.Before), After: Text(c.After)}
	for _, v := range c.Tried {
		d.Tried = append(d.Tried, Text(v))
	}
	if c.Err != nil {
		d.Error = c.Err.Error()
		for name, mark := range marks {
			if errors.Is(c.Err, mark) {
				d.Marks = append(d.Marks, name)
			}
		}
		slices.Sort(d.Marks)
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads what MarshalJSON wrote. The error is for a value that its attribute
// cannot read; an attribute that this piton does not know has Opaque values.
func (c *Change) UnmarshalJSON(b []byte) error {
	var d changeData
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*c = Change(d.plainChange)
	if d.Error != "" {
		c.Err = errors.New(d.Error)
	}
	for _, name := range d.Marks {
		if mark, ok := marks[name]; ok && c.Err != nil {
			c.Err = markedError{c.Err, mark}
		}
	}
	var err error
	if c.Before, err = stored(c.Attribute, d.Before); err == nil {
		c.After, err = stored(c.Attribute, d.After)
	}
	for _, text := range d.Tried {
		v, bad := stored(c.Attribute, text)
		c.Tried, err = append(c.Tried, v), errors.Join(err, bad)
	}
	return err
}

func stored(a Attribute, text string) (Value, error) {
	switch {
	case !a.Known():
		return Opaque(text), nil
	case text == "" && (!a.OfFile() || a.OfGroup()):
		return nil, nil // it was not known
	}
	return a.Parse(text)
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
