package dialog

import (
	"fmt"
	"math"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/topology"
)

// NewRegions asks for a CPU, or for the CPUs of a core, cache or node; the value
// is a cpuset.Set of online CPUs. The cursor begins on the least-loaded CPU, which
// is -1 when it is not known.
func NewRegions(title string, t *topology.Topology, load LoadMsg, least cpuset.CPU) *Menu {
	var items []Item
	at := 0
	for _, b := range newTree(t) {
		online := b.cpus.And(t.Online)
		it := Item{Label: strings.Repeat("  ", b.depth) + b.label, Value: online, Detail: regionDetail(b, load)}
		switch {
		case online.Empty():
			it.Off = "offline"
		case b.leaf >= 0 && b.leaf == least:
			at = len(items)
			if load.idlest(least) {
				it.Detail += "  idlest"
			}
		}
		items = append(items, it)
	}
	return NewMenu(title, items, at)
}

// idlest reports whether the least-loaded CPU may be called that.
func (l LoadMsg) idlest(least cpuset.CPU) bool {
	busy, known := l[least]
	return known && busy < model.IdlestBelow
}

func regionDetail(b branch, load LoadMsg) string {
	text := "     "
	if share, ok := load.mean(b.cpus); ok {
		text = fmt.Sprintf("%4d%%", int(math.Round(float64(share)*100)))
	}
	if b.leaf < 0 {
		text += "  " + b.cpus.String()
	}
	return text
}
