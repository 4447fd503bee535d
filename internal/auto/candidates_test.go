package auto

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// situation is a process of one busy thread on an idle machine, on CPU 0.
func situation(t *topology.Topology, change func(*Situation)) Situation {
	s := Situation{Now: t.Online, Request: place.Request{Topology: t, Targets: []place.Target{{TID: 7, Comm: "x", Allowed: t.Online, HomeNode: -1,
		BusyShare: 1, BusyThreads: 1, Share: map[cpuset.CPU]float64{0: 1}, Weight: place.Weight(0, 0)}}}}
	for cpu := range t.Online.All() {
		s.Request.Loads = append(s.Request.Loads, place.Load{CPU: cpu})
	}
	s.Request.Loads[0].Busy = 1
	if change != nil {
		change(&s)
	}
	return s
}

func names(all []Candidate) (out []string) {
	for _, c := range all {
		out = append(out, c.Name)
	}
	return out
}

func TestCandidates(t *testing.T) {
	two := topologytest.Sized(2)
	numa := topologytest.Sized(64)
	for _, tt := range []struct {
		name  string
		s     Situation
		tried []string // of 64 CPUs: among others
	}{
		{"one CPU", situation(topologytest.Sized(1), nil), []string{"kernel"}},
		{"one cache", situation(two, nil), []string{"kernel", "least-loaded", "cpu 1"}},
		{"a partner", situation(two, func(s *Situation) { s.Partners = []model.Partner{{TID: 9, TGID: 9, Comm: "y", CPU: 1, PerS: 1000}} }),
			[]string{"kernel", "least-loaded", "with 9", "cpu 1"}},
		{"wider than a CPU", situation(two, func(s *Situation) {
			s.Request.Targets[0].BusyShare, s.Request.Targets[0].BusyThreads = 2, 2
			s.Request.Targets[0].Share[1] = 1
		}), []string{"kernel"}},
		{"memory elsewhere", situation(numa, func(s *Situation) { s.Request.Targets[0].HomeNode = 3; s.Request.Loads[63].Busy = 0.9 }),
			[]string{"kernel", "least-loaded", "llc", "node", "home"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tried, left := Candidates(tt.s)
			assert.Subset(t, names(tried), tt.tried)
			if len(tt.s.Request.Loads) < 64 {
				assert.Equal(t, tt.tried, names(tried))
			}
			assert.LessOrEqual(t, len(tried), MostCandidates)
			seen := map[string]bool{}
			for _, c := range tried {
				key := fmt.Sprint(c.CPUs, c.Also)
				assert.False(t, seen[key], "%s is tried twice", key)
				seen[key] = true
				assert.True(t, c.CPUs.SubsetOf(tt.s.Request.Targets[0].Allowed))
			}
			for _, c := range append(tried, left...) {
				assert.NotEmpty(t, c.Reason, c.Name)
				t.Log(c.Name, c.CPUs, c.Reason)
			}
		})
	}
}

func TestEveryNodeIsTried(t *testing.T) {
	tried, _ := Candidates(situation(topologytest.Sized(64), func(s *Situation) {
		s.Request.Targets[0].HomeNode = 2
		for i := range s.Request.Loads {
			if i != 0 && i < 48 {
				s.Request.Loads[i].Busy = 0.9
			}
		}
	}))
	cpus := map[string]string{}
	for _, c := range tried {
		cpus[c.Name] = c.CPUs.String()
	}
	assert.Equal(t, "32-47", cpus["home"])
	assert.Equal(t, "48-63", cpus["node"], "the least loaded")
	assert.Equal(t, "0-15", cpus["node 0"])
	assert.Equal(t, "16-31", cpus["node 1"])
}

func TestAPinnedProcessMayBeFreed(t *testing.T) {
	tried, _ := Candidates(situation(topologytest.Sized(2), func(s *Situation) { s.Now = cpuset.Of(0) }))
	assert.Equal(t, Candidate{Name: Kernel, CPUs: cpuset.Of(0), Reason: "as it is now"}, tried[0])
	assert.Contains(t, names(tried), "free")
	assert.Contains(t, names(tried), "cpu 1")
}
