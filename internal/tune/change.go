package tune

import (
	"encoding/json"

	"piton/internal/kernel"
)

// MarshalJSON writes the change as --json prints it: {"type":"change","pid",
// "tid","comm","attribute","before","after","status","error","reason"}, and with
// "object" and "path" in place of "pid", "tid" and "comm" for a file of the kernel.
func (c Change) MarshalJSON() ([]byte, error) {
	if c.file() {
		return c.marshalFile()
	}
	view := struct {
		Type      string     `json:"type"`
		PID       kernel.TID `json:"pid"`
		TID       kernel.TID `json:"tid"`
		Comm      string     `json:"comm"`
		Attribute Attribute  `json:"attribute"`
		Before    string     `json:"before"`
		After     string     `json:"after"`
		Status    Status     `json:"status"`
		Error     string     `json:"error"`
		Reason    string     `json:"reason"`
	}{"change", c.PID, c.TID, c.Comm, c.Attribute, c.Before, c.After, c.Status, "", c.Reason}
	if c.Err != nil {
		view.Error = c.Err.Error()
	}
	return json.Marshal(view)
}

func (c Change) marshalFile() ([]byte, error) {
	view := struct {
		Type      string    `json:"type"`
		Object    string    `json:"object"`
		Path      string    `json:"path"`
		Attribute Attribute `json:"attribute"`
		Before    string    `json:"before"`
		After     string    `json:"after"`
		Status    Status    `json:"status"`
		Error     string    `json:"error"`
		Reason    string    `json:"reason"`
	}{"change", c.Object(), c.Path, c.Attribute, c.Before, c.After, c.Status, "", c.Reason}
	if c.Err != nil {
		view.Error = c.Err.Error()
	}
	return json.Marshal(view)
}
