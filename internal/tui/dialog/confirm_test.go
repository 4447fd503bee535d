package dialog

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

var all, five = cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7), cpuset.Of(5)

// samplePlan pins 3 processes with 41 threads; some are refused.
func samplePlan() change.Plan {
	p := change.Plan{
		Order: change.Order{Requests: []change.Request{
			{Reason: "least-loaded: cpu 5: 99 % of a CPU expected"}, {Reason: "least-loaded: cpu 5: 99 % of a CPU expected"},
		}},
		Warnings: []change.Warning{change.Note("docker sets the cpuset of postgres: it may be put back when the container restarts")},
	}
	for i := range 41 {
		pid := kernel.TID(100 * (1 + i%3))
		p.Changes = append(p.Changes, change.Change{Object: attr.Object{PID: pid, TID: pid + kernel.TID(i), Comm: "postgres"},
			Attribute: attr.Affinity, Before: all, After: five, Status: attr.Planned})
	}
	return with(p,
		change.Change{Object: attr.Object{PID: 400, TID: 400, Comm: "idle\x1b[2J"}, Attribute: attr.Affinity, Before: five, After: five, Status: attr.Unchanged},
		change.Change{Object: attr.Object{PID: 17, TID: 17, Comm: "kworker/0:1"}, Attribute: attr.Affinity, Status: attr.Refused, Reason: "it is a kernel thread bound to its CPU"},
		change.Change{Object: attr.Object{PID: 18, TID: 18, Comm: "kworker/1:1"}, Attribute: attr.Affinity, Status: attr.Refused, Reason: "it is a kernel thread bound to its CPU"})
}

func with(p change.Plan, changes ...change.Change) change.Plan {
	p.Changes = append(p.Changes, changes...)
	return p
}

func TestPlanInWords(t *testing.T) {
	assert.Equal(t, []Line{
		{Loud, "set affinity of 3 processes (41 threads): 0-7 → 5"},
		{Quiet, "least-loaded: cpu 5: 99 % of a CPU expected"},
		{Quiet, "affinity of idle?[2J (400) is 5 already"},
		{Refusal, "not the affinity of 2 processes: it is a kernel thread bound to its CPU"},
		{Warning, "docker sets the cpuset of postgres: it may be put back when the container restarts"},
	}, PlanLines(samplePlan()))
}

func TestWho(t *testing.T) {
	c := func(pid, tid kernel.TID) change.Change {
		return change.Change{Object: attr.Object{PID: pid, TID: tid, Comm: "nq"}}
	}
	assert.Equal(t, "nq (5)", Who([]change.Change{c(5, 5)}))
	assert.Equal(t, "thread nq (6)", Who([]change.Change{c(5, 6)}))
	assert.Equal(t, "nq (5), 2 threads", Who([]change.Change{c(5, 6), c(5, 5)}))
	assert.Equal(t, "2 processes (3 threads)", Who([]change.Change{c(5, 5), c(7, 7), c(7, 8)}))
	assert.Equal(t, "2 processes", Who([]change.Change{c(5, 5), c(7, 7)}))
	irq := func(n string) change.Change {
		return change.Change{Object: attr.Object{Path: "/proc/irq/" + n + "/smp_affinity_list", Name: "irq " + n}, Attribute: attr.IRQAffinity, Before: cpuset.Of(0, 1, 2, 3), After: cpuset.Of(2), Status: attr.Planned}
	}
	queue := change.Change{Object: attr.Object{Path: "/sys/class/net/eth0/queues/rx-0/rps_cpus", Name: "eth0 rx-0"}, Attribute: attr.RPSCPUs, After: cpuset.Of(2), Status: attr.Planned}
	assert.Equal(t, "irq 24", Who([]change.Change{irq("24")}))
	assert.Equal(t, "2 IRQs", Who([]change.Change{irq("24"), irq("25"), irq("25")}))
	assert.Equal(t, "nq (5) and 2 IRQs, 1 receive queue", Who([]change.Change{c(5, 5), irq("24"), irq("25"), queue}))
	assert.Equal(t, []Line{{Loud, "set affinity of 2 IRQs: 0-3 → 2"}, {Loud, "set RPS CPUs of eth0 rx-0: none → 2"}},
		PlanLines(change.Plan{Changes: []change.Change{irq("24"), irq("25"), queue}}))
}

func TestConfirmAnswers(t *testing.T) {
	yes, no := Outcome{Done: true}, canceled
	for keys, want := range map[string]Outcome{
		"y": yes, "n": no, "enter": yes, "esc": no, "tab enter": no, "left right enter": yes, "z": {},
	} {
		assert.Equal(t, want, press(NewConfirmPlan("Apply?", samplePlan()), keys), keys)
	}
	danger := samplePlan()
	danger.Needs = []change.Need{{Danger: change.NoCPULeft, Text: "it would leave no CPU to others"}, {Danger: change.BusyRealTime, Text: "it is busy"}}
	assert.Equal(t, no, press(NewConfirmPlan("Apply?", danger), "enter"))
	assert.Equal(t, yes, press(NewConfirmPlan("Apply?", danger), "y"))
	assert.Subset(t, PlanLines(danger), []Line{{Refusal, "it would leave no CPU to others"}, {Warning, "it is busy"}})
	danger.Needs = danger.Needs[1:]
	assert.Equal(t, yes, press(NewConfirmPlan("Apply?", danger), "enter"), "it is asked about afterwards")
	careful := NewConfirm("End?", nil, "end", "leave").Careful()
	assert.Equal(t, no, press(careful, "enter"))
	assert.Equal(t, yes, press(careful, "tab enter"))
}

func TestConfirmLooks(t *testing.T) {
	checkGolden(t, "confirm", NewConfirmPlan("Apply?", samplePlan()))
	p := change.Plan{}
	for i := range 60 {
		p.Changes = append(p.Changes, change.Change{Object: attr.Object{PID: kernel.TID(i + 1), TID: kernel.TID(i + 1), Comm: fmt.Sprintf("w%d", i)},
			Attribute: attr.Nice, Before: attr.NiceValue(i % 19), After: attr.NiceValue(19), Status: attr.Planned})
	}
	checkGolden(t, "confirm-long", NewConfirmPlan("Apply?", p))
	checkGolden(t, "confirm-keep", NewConfirm("Keep FIFO?", []Line{{Loud, "nqueens (3641) is FIFO:10 now"},
		{Plain, "If you cannot read this any more it is reverted by itself."}}, "keep", "revert").Countdown(15e9))
}
