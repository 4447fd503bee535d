package tune

import (
	"encoding/json"

	"piton/internal/kernel"
)

// MarshalJSON writes the change as --json prints it: {"type":"change","pid",
// "tid","comm","attribute","before","after","status","error","reason"}.
func (c Change) MarshalJSON() ([]byte, error) {
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
