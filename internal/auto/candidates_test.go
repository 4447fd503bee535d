package auto

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// situation is a process of one busy thread on an idle machine, on CPU 0.
func situation(t *topology.Topology, change func(*Situation)) Situation {
	s := Situation{Now: []cpuset.Set{t.Online}, Request: place.Request{Topology: t, Targets: []place.Target{{TID: 7, Comm: "x", Allowed: t.Online, HomeNode: -1,
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
				key := fmt.Sprint(c.Places)
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
	tried, _ := Candidates(situation(topologytest.Sized(2), func(s *Situation) { s.Now = []cpuset.Set{cpuset.Of(0)} }))
	assert.Equal(t, Candidate{Name: Kernel, CPUs: cpuset.Of(0), Places: []Placed{{7, cpuset.Of(0)}}, Reason: "as it is now"}, tried[0])
	assert.Contains(t, names(tried), "free")
	assert.Contains(t, names(tried), "cpu 1")
}

// TestSeveralAreTogether: two processes are placed as one, each within what it may have.
func TestSeveralAreTogether(t *testing.T) {
	s := situation(topologytest.Sized(64), func(s *Situation) {
		second := s.Request.Targets[0]
		second.TID, second.Allowed, second.HomeNode = 8, cpuset.Of(0, 1, 17), 1
		s.Request.Targets[0].HomeNode = 3
		s.Request.Targets = append(s.Request.Targets, second)
		s.Now = append(s.Now, second.Allowed)
		s.Partners = []model.Partner{{TID: 8, TGID: 8, CPU: 1, PerS: 9000}, {TID: 20, TGID: 19, Comm: "db", CPU: 17, PerS: 1000}}
	})
	tried, left := Candidates(s)
	places := map[string]string{}
	for _, c := range append(tried, left...) {
		places[c.Name] = ""
		for _, p := range c.Places {
			places[c.Name] += fmt.Sprintf("%d: %s; ", p.TID, p.CPUs)
		}
	}
	assert.Equal(t, "7: 48-63; 8: 17; ", places["home"], "each on its own node")
	assert.Equal(t, "7: 17; 8: 17; 19: 17; ", places["with 20"], "the partner that is no target, and its process")
	assert.NotContains(t, places, "with 8")
	assert.Equal(t, "7: 0-63; 8: 0-1,17; ", places["kernel"])
}

func TestWhatIsAskedForComesFirst(t *testing.T) {
	nice := Candidate{Name: "nice:-5", Set: []attr.Setting{attr.SetNice(-5)}, Reason: "as asked"}
	pinned := Candidate{Name: "cpu:0", Reason: "as asked"}
	pinned.Give(7, cpuset.Of(0))
	tried, left := Candidates(situation(topologytest.Sized(2), func(s *Situation) { s.More = []Candidate{nice, pinned, nice} }))
	assert.Equal(t, []string{"kernel", "nice:-5", "cpu:0"}, names(tried)[:3])
	assert.Equal(t, "the same as nice:-5", left[0].Reason)
	requests := nice.requests([]change.Target{{TID: 7, StartTicks: 3}}, "why")
	assert.Equal(t, []change.Request{{Targets: []change.Target{{TID: 7, StartTicks: 3}}, Set: nice.Set, Reason: "why"}}, requests)
}
