package bpf

import (
	"structs"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// cpuNow is what a CPU does at present (struct cpu_now of c/ledger.c).
type cpuNow struct {
	_                         structs.HostLayout
	fromNs, sinceNs, delayNs  uint64
	interruptsNs, intrAt      uint64
	irqSince, irqsNs          uint64
	softirqSince, softirqIrqs uint64
	tid, tgid                 kernel.TID
	known                     uint32
	_                         uint32
	partNs, partLongestNs     uint64
	partTID, partTGID         kernel.TID
}

// addPresent adds what the programs found of the stays that go on to the stays
// from first on. A CPU that is idle and was never seen otherwise may be
// offline, and is left out.
func addPresent(stays []Stay, first int, now []cpuNow) []Stay {
	added := make([]bool, len(now))
	for i := first; i < len(stays); i++ {
		s := &stays[i]
		if int(s.CPU) >= len(now) || s.Kind != KindTask || s.ID != uint32(now[s.CPU].partTID) {
			continue
		}
		s.OnNs += now[s.CPU].partNs
		s.LongestNs = max(s.LongestNs, now[s.CPU].partLongestNs)
		added[s.CPU] = true
	}
	for cpu := range now {
		n := &now[cpu]
		if added[cpu] || n.partNs == 0 || n.known == 0 && n.partTID == 0 {
			continue
		}
		stays = append(stays, Stay{
			CPU: cpuset.CPU(cpu), Kind: KindTask, ID: uint32(n.partTID), TGID: n.partTGID,
			OnNs: n.partNs, LongestNs: n.partLongestNs,
		})
	}
	return stays
}
