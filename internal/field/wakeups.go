package field

import (
	"fmt"
	"strings"

	"piton/internal/chart"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
)

// Wakeups says how often a process wakes each of its partners and is woken by it,
// the one with most wakeups first: "to 1,200 from 1,180/s: nginx 812, cpu 3".
func Wakeups(w *sample.Wakes) []string {
	var out []string
	for _, p := range model.Partners([]kernel.TID{w.Of}, w.List, w.Over) {
		var ways []string
		if p.WokenPerS > 0 {
			ways = append(ways, "to "+chart.Digits(p.WokenPerS))
		}
		if p.WakesPerS > 0 {
			ways = append(ways, "from "+chart.Digits(p.WakesPerS))
		}
		who := "interrupts"
		if p.TID != 0 {
			who = fmt.Sprintf("%s %d, cpu %d", Clean(p.Comm), p.TID, p.CPU)
		}
		out = append(out, strings.Join(ways, " ")+"/s: "+who)
	}
	if w.Lost > 0 {
		out = append([]string{chart.Plural(int(w.Lost), "wakeup") + " not counted: too many partners"}, out...)
	}
	if len(out) == 0 {
		return []string{"none"}
	}
	return out
}
