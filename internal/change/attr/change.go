package attr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piton/internal/cpuset"
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
	Attribute Attribute  `json:"attribute"`
	Before    Value      `json:"before"` // nil = not known
	After     Value      `json:"after"`
	Had       cpuset.Set `json:"had,omitzero"` // View.Had of Before
	Tried     []Value    `json:"-"`            // of a trial under way: the values that it may have been given, in no order
	Status    Status     `json:"status,omitempty"`
	Err       error      `json:"-"`                // when Failed or Refused
	Taken     bool       `json:"taken,omitempty"`  // the write failed, but the old value is gone too
	Reason    string     `json:"reason,omitempty"` // why it failed or was refused, or what the kernel made of it
	Widen     bool       `json:"-"`                // of a restored affinity: it was never set, so CPUs that are offline are to be in it, too
}

// Only returns the changes with one of the statuses.
func Only(changes []Change, statuses ...Status) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !slices.Contains(statuses, c.Status) })
}

// Key names what the change is about.
func (c Change) Key() Key { return Key{ID{c.TID, c.StartTicks}, c.Attribute, c.Path} }

// Took reports whether the change has come about, perhaps not as it was meant.
func (c Change) Took() bool { return c.Status == Done || c.Taken }

// Gone reports whether its object has ended.
func (c Change) Gone() bool { return errors.Is(c.Err, ErrGone) }

// Same reports whether before and after come to the same.
func (c Change) Same() bool { return c.Attribute.Alike(c.Before, c.After) }

// Afters are the values that it may have been given.
func (c Change) Afters() []Value { return append([]Value{c.After}, c.Tried...) }

// Refuse makes it a change that is not tried.
func (c *Change) Refuse(format string, args ...any) {
	c.Status, c.Reason = Refused, fmt.Sprintf(format, args...)
}

// RefuseAs makes it a change that is not tried for what an error says.
func (c *Change) RefuseAs(err error) { c.Status, c.Err, c.Reason = Refused, err, err.Error() }

// Cause is Why in short: where more rights would do, which.
func (c Change) Cause() string {
	switch {
	case !errors.Is(c.Err, ErrNotPermitted):
		return c.Why()
	case c.IsFile():
		return "needs root"
	}
	name, _ := c.Attribute.spec().right()
	return "needs CAP_" + name
}

// Why is the reason, or the error where there is none.
func (c Change) Why() string {
	if c.Reason == "" && c.Err != nil {
		return c.Err.Error()
	}
	return c.Reason
}

// FilesText names the files among some changes: "irq 24 (virtio0-input.0)" or
// "3 IRQs", "4 receive queues, 1 sysctl"; "" when all are of tasks.
func FilesText(changes []Change) string {
	seen, count := map[string]bool{}, map[string]int{}
	var texts []string
	last := Change{}
	for _, c := range changes {
		if !c.IsFile() || seen[c.Path] {
			continue
		}
		seen[c.Path], last = true, c
		noun := cmp.Or(c.Attribute.spec().noun, "file")
		if count[noun]++; count[noun] == 1 {
			texts = append(texts, noun)
		}
	}
	if len(seen) == 1 {
		return last.Object.Object()
	}
	for i, noun := range texts {
		if texts[i] = fmt.Sprintf("%d %s", count[noun], noun); count[noun] > 1 {
			texts[i] += "s"
		}
	}
	return strings.Join(texts, ", ")
}
