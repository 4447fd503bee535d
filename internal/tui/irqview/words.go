package irqview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/irq"
	"piton/internal/tui/theme"
)

// perSecond prints a rate in at most six cells.
func perSecond(n float64) string {
	switch {
	case n == 0:
		return "0"
	case n < 9.95:
		return fmt.Sprintf("%.1f", n)
	case n < 99999.5:
		return fmt.Sprintf("%.0f", n)
	case n < 9999.5e3:
		return fmt.Sprintf("%.0fk", n/1e3)
	}
	return fmt.Sprintf("%.0fM", n/1e6)
}

func total(r irq.Rate, th *theme.Theme) string {
	if !r.OK {
		return th.None
	}
	return perSecond(r.PerS)
}

// most is "cpu 3 82%": the CPU that took most, and its share.
func most(r irq.Rate, th *theme.Theme) string {
	if !r.OK || r.Top < 0 {
		return th.None
	}
	return fmt.Sprintf("cpu %d %.0f%%", r.Top, 100*r.TopPerS/r.PerS)
}

func mask(m irq.Mask, th *theme.Theme) string {
	if !m.OK || m.Empty() {
		return th.None
	}
	return m.String()
}

// lags reports whether the line still goes where it is no longer asked to; it
// moves with its next interrupt.
func lags(r *irq.Row) bool {
	return r.Effective.OK && r.Requested.OK && !r.Effective.SubsetOf(r.Requested.Set)
}

// deviceQueue is the device and the queue, "" when neither is known.
func deviceQueue(r *irq.Row) string {
	return strings.TrimSpace(r.Device.Name() + " " + r.Queue.String())
}

// maxBreakdown is how many CPUs the foot names.
const maxBreakdown = 6

// breakdown is the CPUs that took the line, most first.
func (v *View) breakdown(r irq.Rate) string {
	if !r.OK {
		return "no rate yet: it takes two readings with the same handlers"
	}
	var order []int
	for i, n := range r.ByCPU {
		if n > 0 {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return "quiet in the last interval"
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.ByCPU[b], r.ByCPU[a]) })
	var words []string
	for k, i := range order {
		if k == maxBreakdown {
			words = append(words, fmt.Sprintf("%d more", len(order)-k))
			break
		}
		words = append(words, fmt.Sprintf("cpu %d %s/s", v.table.CPUs[i], perSecond(r.ByCPU[i])))
	}
	return strings.Join(words, ", ")
}

// where is the CPUs that are looked at, in words.
func (v *View) where() string { return strings.ToLower(v.cpus.InWords()) }
