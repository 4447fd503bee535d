package irq

import (
	"strconv"
	"strings"
)

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
