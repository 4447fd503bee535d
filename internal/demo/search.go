package demo

import (
	"math/rand/v2"
	"slices"
	"time"

	"piton/internal/auto"
	"piton/internal/kernel"
)

const (
	// stepsPerS is how fast a process is that has its CPUs for itself; cacheGain is the share
	// that it gains where these are of one cache, noise the standard deviation of a period.
	stepsPerS, cacheGain, noise = 1e6, 0.1, 0.03
)

// rate is the work of some processes: the more others run on a CPU now, the less is done
// there.
func (m *Machine) rate(pids []kernel.TID) auto.Grown {
	m.mu.Lock()
	others := make([]float64, len(m.cpus))
	for i := range m.cpus {
		for _, q := range m.cpus[i].queue {
			if !slices.Contains(pids, q.TGID) {
				others[i] += q.got
			}
		}
	}
	m.mu.Unlock()
	last := time.Now()
	return func() (float64, error) {
		sum := 0.0
		for _, pid := range pids {
			cpus, err := m.fake.Affinity(pid)
			if err != nil {
				return 0, err
			}
			speed := 0.0
			for _, cpu := range cpus.CPUs() {
				speed += 1 / (1 + others[cpu]) / float64(cpus.Len())
			}
			if len(auto.Caches(m.Topology, cpus)) == 1 {
				speed *= 1 + cacheGain
			}
			sum += speed
		}
		took := time.Since(last)
		last = last.Add(took)
		return stepsPerS * sum * took.Seconds() * (1 + noise*rand.NormFloat64()), nil
	}
}
