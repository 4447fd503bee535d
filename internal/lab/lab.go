// Package lab is the laboratory: what reproduces the published studies, and what only they and
// a few experimental ways of piton use. The house does not import it; what it has it registers
// with the house here, and study its studies. Import it where a program is put together.
//
//	study      the published studies: their cells, what was published, and what is found today
//	stripnet   the traffic of the study sais: strips read from servers over TCP
//	netns      network namespaces, their wires and connections, interfaces in any of them; it talks to the kernel itself, so
//	           that package kernel has nothing that only a study needs
//	steer      packets of chosen flows handed to a CPU, by XDP
//	hint       the CPU of a consumer travels with its TCP connections
//	aggregate  a scheduler (sched_ext) that runs threads of one address space one after another
package lab

import (
	"piton/internal/action"
	"piton/internal/bpf"
	"piton/internal/cli/benchcmd"
	"piton/internal/cli/irqcmd"
	"piton/internal/lab/aggregate"
	"piton/internal/lab/hint"
	"piton/internal/lab/netns"
	"piton/internal/lab/steer"
	"piton/workloads/chat"
)

func init() {
	benchcmd.Reproduce = reproduce
	irqcmd.NewHint = newHint
	action.Programs = programs{}
	action.Aggregate = placeTogether
	chat.OpenAggregator = openAggregator
	action.NtupleFilters = func(nic string) (f action.Filters, err error) {
		f.Has, f.On, err = netns.NtupleFilters(nic)
		return f, err
	}
	bpf.Known = append(bpf.Known, steer.Programs, hint.Programs, aggregate.Programs)
	bpf.Features = append(bpf.Features, aggregate.Feature)
}
