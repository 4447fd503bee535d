package field

import (
	"fmt"
	"net/netip"
	"strings"

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

// FlowCPUs has the first CPUs of a flow: "3", or "3 (98 %), 1 (2 %)".
func FlowCPUs(cpus []model.CPUShare) string {
	const most = 3
	if len(cpus) == 1 {
		return fmt.Sprint(cpus[0].CPU)
	}
	var words []string
	EachCPU(cpus, func(cpu int, of float64) { words = append(words, fmt.Sprintf("%d (%.0f %%)", cpu, 100*of)) })
	if more := len(words) - most; more > 0 {
		words = append(words[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, ", ")
}

// EachCPU tells the shares of the CPUs, 0 to 1, in all that they had.
func EachCPU(cpus []model.CPUShare, share func(cpu int, of float64)) {
	all := 0.0
	for _, c := range cpus {
		all += float64(c.Bytes)
	}
	for _, c := range cpus {
		share(int(c.CPU), float64(c.Bytes)/all)
	}
}

// Address is one as tables have it, "" if there is none.
func Address(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
