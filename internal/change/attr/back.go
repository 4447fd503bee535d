package attr

import (
	"cmp"
	"errors"
	"fmt"

	"piton/internal/kernel"
)

// Barred says why the kernel would refuse to change an object from Before to After with the
// rights at hand; nil if it would not, as far as is known before it is tried. The error Is
// ErrNotPermitted where more rights would do, ErrOneWay where none would.
//
// What every change of an object takes, in both directions (its owner, the mode of a
// file), is not asked for: the change itself fails without.
func (m *Machine) Barred(c Change) error {
	s := c.Attribute.spec()
	switch {
	case c.Before == nil || c.After == nil || c.Same():
		return nil
	case s.final != nil && s.final(c):
		return markedError{fmt.Errorf("only a reboot sets it to %s", c.After), ErrOneWay}
	case s.privileged == nil || m.Has(cmp.Or(s.needs, kernel.CapSysNice)) && m.Initial("user"):
		return nil // these rights are asked of the initial user namespace (capable() in the kernel)
	}
	what, limit, least := s.privileged(m, c)
	if what == "" || m.within(c, limit, least) {
		return nil
	}
	return NotPermitted(errors.New(what + m.missingRight(s, m.orLimit(c, limit, least))))
}

// NoWayBack says why a change could not be reverted, as Barred does.
func (m *Machine) NoWayBack(c Change) error {
	back := c
	back.After = c.Before
	for _, back.Before = range c.Afters() {
		if err := m.Barred(back); err != nil {
			return err
		}
	}
	return nil
}

// within reports whether a resource limit of the task allows the change.
func (m *Machine) within(c Change, item string, least uint64) bool {
	limits, err := m.Limits(c.TID)
	return err == nil && item != "" && limitOf(limits, item) >= least
}
