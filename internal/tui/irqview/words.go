package irqview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/field"
	"piton/internal/irq"
)

const maxBreakdown = 6

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
		words = append(words, fmt.Sprintf("cpu %d %s/s", v.table.CPUs[i], field.Fixed(r.ByCPU[i])))
	}
	return strings.Join(words, ", ")
}

// where is the CPUs that are looked at, in words.
func (v *View) where() string { return strings.ToLower(v.cpus.InWords()) }
