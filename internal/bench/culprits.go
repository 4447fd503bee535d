package bench

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/workloads/activity"
)

// maxCulprits is how many are named.
const maxCulprits = 12

// witness has the kernel write down who is on each CPU, by eBPF.
type witness struct {
	sampler *sample.Sampler
	refusal error
}

// watchCPUs begins. It costs about a tenth of a microsecond for each context
// switch and interrupt of the machine until culprits ends it.
func watchCPUs() *witness {
	s, err := sample.New(sample.Options{Needs: sample.Needs{Ledger: true}, EBPF: sample.EBPFNever})
	w := &witness{sampler: s, refusal: err}
	if w.refusal == nil {
		_, w.refusal = w.stays()
	}
	return w
}

// stays are who ran where since the last call.
func (w *witness) stays() ([]sample.Stay, error) {
	n, err := w.sampler.Read()
	if err != nil {
		return nil, err
	}
	for _, c := range n.Collectors {
		if c.Name == "ledger" {
			return n.Stays, c.Err
		}
	}
	return nil, errors.New("nobody writes down who is on the CPUs")
}

// culprits ends it and returns who else was on the CPUs since it began, the
// longest first, or why that is not known. The timer's interrupt itself is in no
// list: the kernel has no tracepoint for it on every architecture.
func (w *witness) culprits(cpus []int) ([]activity.Culprit, string) {
	if w.sampler != nil {
		defer func() { _ = w.sampler.Close() }()
	}
	if w.refusal != nil {
		return nil, w.refusal.Error()
	}
	stays, err := w.stays()
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
func rank(stays []sample.Stay, cpus []int, own []kernel.TID) []activity.Culprit {
	ran := map[kernel.TID]uint64{}
	worker := kernel.TID(0)
	for _, s := range stays {
		if s.Kind == sample.StayTask && slices.Contains(own, s.TID) {
			if ran[s.TID] += s.RunNs; ran[s.TID] > ran[worker] {
				worker = s.TID
			}
		}
	}
	var out []activity.Culprit
	for _, s := range stays {
		if len(cpus) > 0 && !slices.Contains(cpus, int(s.CPU)) {
			continue
		}
		id := s.Number
		if s.Kind == sample.StayTask {
			id = int(s.TID)
		}
		if s.Kind == sample.StayTask && (s.TID == 0 || s.TID == worker) {
			continue
		}
		out = append(out, activity.Culprit{
			Kind: s.Kind.String(), Name: s.Name, ID: id, CPU: int(s.CPU),
			Seconds: float64(s.RunNs) / 1e9, LongestNs: float64(s.LongestNs), Times: s.Times,
		})
	}
	slices.SortFunc(out, func(a, b activity.Culprit) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return out[:min(len(out), maxCulprits)]
}
