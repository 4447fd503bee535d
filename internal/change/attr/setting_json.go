package attr

import "encoding/json"

// settingData is a setting as data: the value in the notation that Attribute.Parse
// reads.
type settingData struct {
	Attribute Attribute `json:"attribute"`
	Value     string    `json:"value"`
	Path      string    `json:"path,omitempty"` // of a FileSetting
	Name      string    `json:"name,omitempty"`
}

// MarshalJSON writes {"attribute":"nice","value":"5"}.
func (s Setting) MarshalJSON() ([]byte, error) {
	return json.Marshal(settingData{Attribute: s.Attribute, Value: Text(s.Value)})
}

// UnmarshalJSON reads what MarshalJSON wrote; the error is a UsageError for a value
// that is none of its attribute's.
func (s *Setting) UnmarshalJSON(b []byte) error {
	var d settingData
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	v, err := d.Attribute.Parse(d.Value)
	*s = Setting{d.Attribute, v}
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
	s.Path, s.Name = d.Path, d.Name
	return s.Setting.UnmarshalJSON(b)
}
