package field

import (
	"fmt"

	"piton/internal/chart"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology"
)

// Received says what a process reads of the network, and how much of it on the CPU that
// handled the packets: "12.3 MB/s of 3 flows, 98 % on the CPU of their packets". "" is not known.
func Received(f *sample.Flows, topo *topology.Topology) string {
	if f.Over <= 0 {
		return ""
	}
	l := model.LocalityOf(f.List, topo)
	if l.Bytes == 0 {
		return "nothing"
	}
	text := fmt.Sprintf("%s of %s", chart.Quantity(float64(l.Bytes)/f.Over.Seconds(), "B/s"), chart.Plural(len(model.Flows(f.List, topo)), "flow"))
	if share, ok := l.Share(l.SameCPU); ok {
		text += fmt.Sprintf(", %s %% on the CPU of their packets", chart.Digits(100*share))
	}
	if f.Lost > 0 {
		text += fmt.Sprintf(", %s not counted", chart.Plural(int(f.Lost), "read"))
	}
	return text
}
