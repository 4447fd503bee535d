package irq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// Handlers is the names of the line's handlers, joined.
func (f *Facts) Handlers() string { return strings.Join(f.Actions, ", ") }

// Match reports whether every word of the filter is in the line's number,
// handlers, device, driver, queue, control or threads, whatever its case. An
// empty filter matches.
func (r *Row) Match(filter string) bool {
	parts := []string{strconv.Itoa(r.Number), r.Handlers(), r.Device.Name(), r.Device.Address, r.Device.Driver,
		r.Queue.String(), r.Control.String()}
	for _, t := range r.Threads {
		parts = append(parts, t.Comm)
	}
	return contains(parts, filter)
}

// Match is Row.Match for a named line, by its name and text.
func (n *NamedRow) Match(filter string) bool { return contains([]string{n.Name, n.Text}, filter) }

func contains(parts []string, filter string) bool {
	text := strings.ToLower(strings.Join(parts, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// Happened reports whether the line was counted at all since boot.
func (n *Named) Happened() bool { return Total(n.Counts) > 0 }

// Total is the sum of the counts of all CPUs.
func Total(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}
