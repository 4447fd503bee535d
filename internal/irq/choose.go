package irq

import (
	"fmt"
	"slices"
	"strconv"

	"piton/internal/cpuset"
	"piton/internal/pattern"
)

// ErrNoMatch is a word that means no interrupt line.
type ErrNoMatch string

func (e ErrNoMatch) Error() string { return fmt.Sprintf("no interrupt line matches %q", string(e)) }

// Choose returns the lines that the words mean, in the table's order, and an
// ErrNoMatch for each word that means none. A word is a number or a list of them
// (24, 24-31), or a name or glob of a handler (virtio0-*), an interface or disk
// (eth0, nvme0n1), a PCI address, a driver or a handler's thread.
func (t *Table) Choose(words []string) (lines []*Row, unmatched []error) {
	chosen := make([]bool, len(t.Rows))
	for _, word := range words {
		found := false
		means := meaning(word)
		for i := range t.Rows {
			if means(&t.Rows[i]) {
				chosen[i], found = true, true
			}
		}
		if !found {
			unmatched = append(unmatched, ErrNoMatch(word))
		}
	}
	for i := range t.Rows {
		if chosen[i] {
			lines = append(lines, &t.Rows[i])
		}
	}
	return lines, unmatched
}

// meaning is what tells the lines that a word means.
func meaning(word string) func(*Row) bool {
	if numbers, err := cpuset.Parse(word); err == nil && !numbers.Empty() {
		return func(r *Row) bool { return numbers.Has(cpuset.CPU(r.Number)) }
	}
	if n, err := strconv.ParseUint(word, 10, 31); err == nil {
		return func(r *Row) bool { return r.Number == int(n) }
	}
	return func(r *Row) bool {
		return slices.ContainsFunc(r.names(), func(name string) bool { return name == word || pattern.Glob(word, name) })
	}
}

// names are what a line may be called by.
func (i *IRQ) names() []string {
	names := append([]string{i.Device.Address, i.Device.Driver}, i.Actions...)
	names = append(names, i.Device.Names...)
	for _, t := range i.Threads {
		names = append(names, t.Comm)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// CanMove reports whether it is worth trying to move the line: its affinity can be
// set, or that is not known before.
func (i *IRQ) CanMove() bool { return i.Control == Settable || i.Control == ControlUnknown }

// IsOf reports whether a device of this name raises the line: an interface or disk.
func (i *IRQ) IsOf(device string) bool { return slices.Contains(i.Device.Names, device) }
