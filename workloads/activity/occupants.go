package activity

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

const maxOccupants = 12

// occupancy records what runs on each CPU, by eBPF.
type occupancy struct {
	sampler *sample.Sampler
	refusal error
}

// watchCPUs starts recording. It costs about a tenth of a microsecond for each context
// switch and interrupt of the machine until occupants stops it.
func watchCPUs() *occupancy {
	s, err := sample.New(sample.Options{Needs: sample.Needs{Ledger: true}, EBPF: sample.EBPFNever})
	w := &occupancy{sampler: s, refusal: err}
	if w.refusal == nil {
		_, w.refusal = w.read()
	}
	return w
}

// read returns what ran on which CPU since the last call.
func (w *occupancy) read() ([]sample.RunInterval, error) {
	n, err := w.sampler.Read()
	if err != nil {
		return nil, err
	}
	for _, c := range n.Collectors {
		if c.Name == "ledger" {
			return n.RunIntervals, c.Err
		}
	}
	return nil, errors.New("no record of what ran on the CPUs")
}

// occupants stops recording and returns what else ran on the CPUs, the longest
// first, or why that is unknown. The timer's interrupt itself is not
// listed: the kernel has no tracepoint for it on every architecture.
func (w *occupancy) occupants(cpus []int) ([]Occupant, string) {
	if w.sampler != nil {
		defer func() { _ = w.sampler.Close() }()
	}
	if w.refusal != nil {
		return nil, w.refusal.Error()
	}
	stays, err := w.read()
	if err != nil {
		return nil, err.Error()
	}
	own, err := procfs.New("/").Threads(kernel.TID(os.Getpid()))
	if err != nil {
		return nil, err.Error()
	}
	return rank(stays, cpus, own), ""
}

// rank leaves out idling and that one of the workload's own threads that did the
// work, which is the busiest.
func rank(stays []sample.RunInterval, cpus []int, own []kernel.TID) []Occupant {
	ran := map[kernel.TID]uint64{}
	worker := kernel.TID(0)
	for _, s := range stays {
		if s.Kind == sample.RunOfTask && slices.Contains(own, s.TID) {
			if ran[s.TID] += s.RunNs; ran[s.TID] > ran[worker] {
				worker = s.TID
			}
		}
	}
	var out []Occupant
	for _, s := range stays {
		if len(cpus) > 0 && !slices.Contains(cpus, int(s.CPU)) {
			continue
		}
		id := s.Number
		if s.Kind == sample.RunOfTask {
			id = int(s.TID)
		}
		if s.Kind == sample.RunOfTask && (s.TID == 0 || s.TID == worker) {
			continue
		}
		out = append(out, Occupant{
			Kind: s.Kind.String(), Name: s.Name, ID: id, CPU: int(s.CPU),
			Seconds: float64(s.RunNs) / 1e9, LongestNs: float64(s.LongestNs), Times: s.Times,
		})
	}
	slices.SortFunc(out, func(a, b Occupant) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return out[:min(len(out), maxOccupants)]
}
