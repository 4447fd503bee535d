package profilecmd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/history"
	"piton/internal/cpuset"
	"piton/internal/profile"
)

// TestSetBy is who is said to have set what a profile does not want.
func TestSetBy(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Tasks[10].State = 'R'
	j := changetest.Journal(t)
	tuner := m.Tuner(change.Options{Journal: j, User: "root"})
	who := func() string {
		w := profile.Want{Attribute: attr.Affinity, PID: 10, TID: 10, StartTicks: 1010, Expected: cpuset.Of(2), Actual: m.Task(10).Affinity, Known: true}
		by, _ := setBy(&w, history.Setters(changetest.Entries(t, j)), tuner.NewView())
		return by
	}
	assert.Equal(t, "not piton", who())
	changetest.Apply(t, tuner, changetest.Pin(change.ScopeProcess, cpuset.Of(3), 10))
	assert.Equal(t, "root, entry 1", who())
	m.SetOnline(cpuset.Of(0, 1, 2))
	assert.Equal(t, "the kernel: CPU 3 went offline, after entry 1", who())
	m.SetOnline(cpuset.Of(0, 1, 2, 3))
	assert.Equal(t, "somebody else, or the kernel when a CPU went offline, after entry 1", who())
}
