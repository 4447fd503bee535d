package action

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func TestCommandsMakeTheChangeAgain(t *testing.T) {
	set := func(pid, tid kernel.TID, s attr.Setting) change.Change {
		return change.Change{Object: attr.Object{PID: pid, TID: tid}, Attribute: s.Attribute, After: s.Value}
	}
	cpu1 := attr.SetAffinity(cpuset.Of(1))
	irq := change.Change{Object: attr.Object{Path: "/proc/irq/24/smp_affinity_list"}, Attribute: attr.IRQAffinity, After: cpu1.Value}
	for want, changes := range map[string][]change.Change{
		"piton pin 21951 --cpu 1":   {set(21951, 21951, cpu1)},
		"piton pin 21951 4 --cpu 1": {set(21951, 21951, cpu1), set(21951, 21952, cpu1), set(4, 4, cpu1)},
		"piton nice 21951 3":        {set(21951, 21952, attr.SetNice(3))},
		"piton sysctl 'net.ipv4.tcp_rmem=4096 131072 6291456'": {
			{Object: attr.Object{Path: "/proc/sys/net/ipv4/tcp_rmem"}, Attribute: attr.Sysctl, After: attr.Opaque("4096 131072 6291456")}},
		"piton nice 21951 -5":         {set(21951, 21951, attr.SetNice(-5))},
		"piton policy 7 FIFO:10":      {set(7, 7, attr.SetPolicy(attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 10}))},
		"piton irq move 24 --cpu 1":   {irq},
		"piton nice 7 10 --autogroup": {set(7, 7, attr.Setting{Attribute: attr.Autogroup, Value: attr.NiceValue(10)})},
		"piton weight cgroup:/web idle": {{Object: attr.Object{Path: "/sys/fs/cgroup/web/cpu.weight", Name: "cgroup /web"}, Attribute: attr.Weight,
			After: attr.Opaque("idle")}},
		"piton sysctl kernel.sched_rr=1": {{Object: attr.Object{Path: "/proc/sys/kernel/sched_rr"}, Attribute: attr.Sysctl, After: attr.Opaque("1")}},
	} {
		assert.Equal(t, []string{want}, Commands(nil, changes))
	}
	assert.Equal(t, []string{"piton pin 1 --cpu 1", "piton nice 1 3"}, Commands(nil, []change.Change{set(1, 1, cpu1), set(1, 1, attr.SetNice(3))}))

	one := func(tid kernel.TID) change.Target { return change.Target{TID: tid, Scope: change.ScopeThread} }
	both := []change.Change{set(4, 4, cpu1), set(21951, 21952, cpu1), set(21951, 21953, cpu1)}
	assert.Equal(t, []string{"piton pin 4 --cpu 1", "piton pin 21952 21953 --cpu 1 --thread"},
		Commands([]change.Target{{TID: 4}, one(21952), one(21953)}, both), "the threads' process stays as it is")
	assert.Equal(t, []string{"piton pin 4 21951 --cpu 1"},
		Commands([]change.Target{{TID: 4}, {TID: 21951}, one(21952)}, both), "a tagged thread of a tagged process")
	assert.Equal(t, []string{"piton pin 21951 --cpu 1 --thread"},
		Commands([]change.Target{one(21951)}, []change.Change{set(21951, 21951, cpu1)}), "the first thread alone")
	assert.Equal(t, []string{"piton nice 7 3 --thread", "piton nice 8 5 --thread"},
		Commands([]change.Target{{TID: 7}}, []change.Change{set(7, 7, attr.SetNice(3)), set(7, 8, attr.SetNice(5))}), "a step of threads that differ")
}
