package attr

import (
	"encoding/json"
	"errors"
	"fmt"

	"piton/internal/kernel"
)

// Status is what became of a change.
type Status string

// The statuses, as in JSON.
const (
	Planned   Status = "planned" // dry run, or not yet applied
	Done      Status = "done"
	Unchanged Status = "unchanged" // it had the value already
	Failed    Status = "failed"    // the kernel refused or the value did not stick
	Refused   Status = "refused"   // piton did not try, Reason says why
)

// Change is one attribute of one object.
type Change struct {
	Object
	Attribute     Attribute
	Before, After Value // nil = not known
	Status        Status
	Err           error // when Failed or Refused
	// Taken: the write failed, but the old value is gone too.
	Taken  bool
	Reason string // why it failed or was refused, or what the kernel made of it

	// Widen: an affinity that nobody chose is restored, so the task gets the CPUs
	// that are offline, too.
	Widen bool
}

// Key names what the change is about.
func (c Change) Key() Key { return Key{ID{c.TID, c.StartTicks}, c.Attribute, c.Path} }

// Took reports whether the change has come about, perhaps not as it was meant.
func (c Change) Took() bool { return c.Status == Done || c.Taken }

// Gone reports whether its object has ended.
func (c Change) Gone() bool { return errors.Is(c.Err, ErrGone) }

// Same reports whether before and after come to the same.
func (c Change) Same() bool { return c.Attribute.Alike(c.Before, c.After) }

// Refuse makes it a change that is not tried.
func (c *Change) Refuse(format string, args ...any) {
	c.Status, c.Reason = Refused, fmt.Sprintf(format, args...)
}

// Why is the reason, or the error where there is none.
func (c Change) Why() string {
	if c.Reason == "" && c.Err != nil {
		return c.Err.Error()
	}
	return c.Reason
}

// MarshalJSON writes the change as --json prints it: {"type":"change","pid",
// "tid","comm","attribute","before","after","status","error","reason"}, and with
// "object" and "path" in place of "pid", "tid" and "comm" for a file of the kernel.
func (c Change) MarshalJSON() ([]byte, error) {
	type common struct {
		Attribute Attribute `json:"attribute"`
		Before    string    `json:"before"`
		After     string    `json:"after"`
		Status    Status    `json:"status"`
		Error     string    `json:"error"`
		Reason    string    `json:"reason"`
	}
	rest := common{c.Attribute, Text(c.Before), Text(c.After), c.Status, "", c.Reason}
	if c.Err != nil {
		rest.Error = c.Err.Error()
	}
	if c.IsFile() {
		return json.Marshal(struct {
			Type   string `json:"type"`
			Object string `json:"object"`
			Path   string `json:"path"`
			common
		}{"change", c.Object.Object(), c.Path, rest})
	}
	return json.Marshal(struct {
		Type string     `json:"type"`
		PID  kernel.TID `json:"pid"`
		TID  kernel.TID `json:"tid"`
		Comm string     `json:"comm"`
		common
	}{"change", c.PID, c.TID, c.Comm, rest})
}

// FilesText names the files among some changes: "irq 24 (virtio0-input.0)" or
// "3 IRQs", "4 receive queues, 1 sysctl"; "" when all are of tasks.
func FilesText(changes []Change) string {
	seen := map[string]bool{}
	count := map[[2]string]int{}
	var nouns [][2]string
	last := Change{}
	for _, c := range changes {
		if !c.IsFile() || seen[c.Path] {
			continue
		}
		seen[c.Path], last = true, c
		noun := c.Attribute.spec().noun
		if noun[0] == "" {
			noun = [2]string{"file", "files"}
		}
		if count[noun]++; count[noun] == 1 {
			nouns = append(nouns, noun)
		}
	}
	if len(seen) == 1 {
		return last.Object.Object()
	}
	var text string
	for i, noun := range nouns {
		if i > 0 {
			text += ", "
		}
		word := noun[0]
		if count[noun] > 1 {
			word = noun[1]
		}
		text += fmt.Sprintf("%d %s", count[noun], word)
	}
	return text
}
