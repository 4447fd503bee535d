package profile

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// anyMachine is a machine of few names, so that many tasks are hard to tell apart.
func anyMachine(r *rand.Rand) *made {
	m := machine()
	mask := func() cpuset.Set {
		if r.IntN(2) == 0 {
			return set("0-7")
		}
		return cpuset.FromWords([]uint64{1 + r.Uint64N(255)})
	}
	settle := func(t *sample.Task) {
		t.Affinity = mask()
		if r.IntN(3) == 0 {
			t.Nice = int8(r.IntN(3))
		}
		if r.IntN(4) == 0 {
			t.Policy, t.RTPrio = kernel.FIFO, uint8(1+r.IntN(2))
		}
	}
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	tid := kernel.TID(100)
	for range r.IntN(8) {
		comm, cmdline := pick("a", "b", "7"), pick("x", "y -z", "")
		cgroup := pick("/", "/s/a.service", "/s/b.service", "/u/s.scope")
		pid := tid
		settle(m.process(pid, comm, cmdline, cgroup))
		for tid++; r.IntN(3) > 0; tid++ {
			settle(m.thread(pid, tid, pick(comm, "w", "w*"), cmdline, cgroup))
		}
	}
	for i := range r.IntN(4) {
		settle(m.kthread(kernel.TID(50+i), pick("rcu/0", "rcu/1", "irq/9-x", "irq/8-x", "kd")))
	}
	for i := range r.IntN(4) {
		m.line(20+i, pick("h", "g"), pick("eth0", "eth1"), mask().String(), irq.Control(r.IntN(4)))
	}
	return m
}

// TestWhatIsSavedHolds: on whatever machine, a profile of it asks for nothing, can
// be read again, and what it could not express is said.
func TestWhatIsSavedHolds(t *testing.T) {
	for seed := range uint64(800) {
		m := anyMachine(rand.New(rand.NewPCG(seed, 1)))
		for _, all := range []bool{false, true} {
			p := Capture(m.State, CaptureOptions{All: all})
			again, err := Parse(Encode(p))
			require.NoError(t, err, "seed %d: %s", seed, Encode(p))
			r := Resolve(again, m.State)
			why := fmt.Sprintf("seed %d\n%s", seed, Encode(p))
			require.Empty(t, drift(r), why)
			require.Empty(t, r.Missing, why)
			if all && len(p.Notes) == 0 {
				m.changes(t, r, why)
			}
		}
	}
}

// changes makes sure that a saved profile notices each change of a task.
func (m *made) changes(t *testing.T, r *Resolution, why string) {
	t.Helper()
	meant := map[kernel.TID]int{}
	for _, w := range r.Wants {
		meant[w.TID]++
	}
	for i := range m.Tasks {
		k := m.Tasks[i]
		if k.Flags&sample.FlagKernelThread == 0 {
			require.GreaterOrEqual(t, meant[k.TID], 4, "%d %s has no item: %s", k.TID, k.ID.Comm, why)
		}
	}
}

// obey does to the tasks what requests ask for, as internal/change would.
func (m *made) obey(requests []change.Request) {
	for _, q := range requests {
		for _, target := range q.Targets {
			pid := m.task(target.TID).TGID
			for i := range m.Tasks {
				if t := m.Tasks[i]; t.TID == target.TID || target.Scope == change.ScopeProcess && t.TGID == pid {
					give(t, q.Set)
				}
			}
		}
	}
}

func give(t *sample.Task, set []attr.Setting) {
	for _, s := range set {
		switch v := s.Value.(type) {
		case cpuset.Set:
			t.Affinity = v
		case attr.NiceValue:
			t.Nice = int8(v)
		case attr.PolicyValue:
			t.Policy, t.RTPrio = v.Policy, uint8(v.RTPrio)
		case attr.IOPrioValue:
			t.IOPrio = kernel.IOPrio(v)
		}
	}
}

// TestAppliedOnceIsEnough: after what a profile asks for is done to a machine that
// somebody has changed, it asks for nothing more.
func TestAppliedOnceIsEnough(t *testing.T) {
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := anyMachine(r)
		p, err := Parse(Encode(Capture(m.State, CaptureOptions{All: true})))
		require.NoError(t, err)
		for i := range m.Tasks {
			if k := m.Tasks[i]; r.IntN(2) == 0 && k.Flags&sample.FlagNoSetAffinity == 0 {
				k.Affinity, k.Nice = cpuset.FromWords([]uint64{1 + r.Uint64N(255)}), int8(r.IntN(3))
			}
		}
		requests := Resolve(p, m.State).Requests("")
		m.obey(requests)
		after := Resolve(p, m.State)
		var left []Want
		for _, w := range after.Drift() {
			if w.TID != 0 {
				left = append(left, w)
			}
		}
		require.Empty(t, left, "seed %d: %s", seed, Encode(p))
	}
}
