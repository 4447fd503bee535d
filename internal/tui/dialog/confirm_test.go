package dialog

import (
	"errors"
	"fmt"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
	"piton/internal/tune"
)

// samplePlan pins 3 processes with 41 threads; some are refused.
func samplePlan() tune.Plan {
	p := tune.Plan{
		Requests: []tune.Request{{Reason: "least-loaded: cpu 5: 99 % of a CPU expected"}, {Reason: "least-loaded: cpu 5: 99 % of a CPU expected"}},
		Warnings: []string{"docker sets the cpuset of postgres: it may be put back when the container restarts"},
	}
	for i := range 41 {
		pid := kernel.TID(100 * (1 + i%3))
		p.Changes = append(p.Changes, tune.Change{PID: pid, TID: pid + kernel.TID(i), Comm: "postgres",
			Attribute: tune.Affinity, Before: "0-7", After: "5", Status: tune.Planned})
	}
	return with(p,
		tune.Change{PID: 400, TID: 400, Comm: "idle\x1b[2J", Attribute: tune.Affinity, Before: "5", After: "5", Status: tune.Unchanged},
		tune.Change{PID: 17, TID: 17, Comm: "kworker/0:1", Attribute: tune.Affinity, Status: tune.Refused, Reason: "it is a kernel thread bound to its CPU"},
		tune.Change{PID: 18, TID: 18, Comm: "kworker/1:1", Attribute: tune.Affinity, Status: tune.Refused, Reason: "it is a kernel thread bound to its CPU"})
}

func with(p tune.Plan, changes ...tune.Change) tune.Plan {
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
	c := func(pid, tid kernel.TID) tune.Change { return tune.Change{PID: pid, TID: tid, Comm: "nq"} }
	assert.Equal(t, "nq (5)", Who([]tune.Change{c(5, 5)}))
	assert.Equal(t, "thread nq (6)", Who([]tune.Change{c(5, 6)}))
	assert.Equal(t, "nq (5), 2 threads", Who([]tune.Change{c(5, 6), c(5, 5)}))
	assert.Equal(t, "2 processes (3 threads)", Who([]tune.Change{c(5, 5), c(7, 7), c(7, 8)}))
	assert.Equal(t, "2 processes", Who([]tune.Change{c(5, 5), c(7, 7)}))
	irq := func(n string) tune.Change {
		return tune.Change{Attribute: tune.IRQAffinity, Path: "/proc/irq/" + n + "/smp_affinity_list", Name: "irq " + n, Before: "0-3", After: "2", Status: tune.Planned}
	}
	queue := tune.Change{Attribute: tune.RPSCPUs, Path: "/sys/class/net/eth0/queues/rx-0/rps_cpus", Name: "eth0 rx-0", After: "2", Status: tune.Planned}
	assert.Equal(t, "irq 24", Who([]tune.Change{irq("24")}))
	assert.Equal(t, "2 IRQs", Who([]tune.Change{irq("24"), irq("25"), irq("25")}))
	assert.Equal(t, "nq (5) and 2 IRQs, 1 receive queue", Who([]tune.Change{c(5, 5), irq("24"), irq("25"), queue}))
	assert.Equal(t, []Line{{Loud, "set affinity of 2 IRQs: 0-3 → 2"}, {Loud, "set RPS CPUs of eth0 rx-0: none → 2"}},
		PlanLines(tune.Plan{Changes: []tune.Change{irq("24"), irq("25"), queue}}))
}

func TestConfirmAnswers(t *testing.T) {
	yes, no := Outcome{Done: true}, canceled
	for keys, want := range map[string]Outcome{
		"y": yes, "n": no, "enter": yes, "esc": no, "tab enter": no, "left right enter": yes, "z": {},
	} {
		assert.Equal(t, want, press(NewConfirmPlan(samplePlan()), keys), keys)
	}
	danger := samplePlan()
	danger.NeedsYes = "it would leave no CPU to others"
	assert.Equal(t, no, press(NewConfirmPlan(danger), "enter"))
	assert.Equal(t, yes, press(NewConfirmPlan(danger), "y"))
	assert.Contains(t, PlanLines(danger), Line{Refusal, "it would leave no CPU to others"})
	careful := NewConfirm("End?", nil, "end", "leave").Careful()
	assert.Equal(t, no, press(careful, "enter"))
	assert.Equal(t, yes, press(careful, "tab enter"))
}

func TestAPlanThatDoesNothingCannotBeApplied(t *testing.T) {
	p := tune.Plan{Changes: []tune.Change{{PID: 1, TID: 1, Comm: "init", Attribute: tune.Nice, Status: tune.Failed, Err: errors.New("no such task")}}}
	c := NewConfirmPlan(p)
	assert.Equal(t, "Nothing to change", c.Title())
	text := ansi.Strip(c.Render(60, 9, plain))
	assert.Contains(t, text, "not the nice value of init (1): no such task")
	assert.Equal(t, canceled, press(c, "y"))
	assert.Equal(t, canceled, press(NewConfirmPlan(p), "enter"))
}

func TestConfirmLooks(t *testing.T) {
	checkGolden(t, "confirm", NewConfirmPlan(samplePlan()))
	p := tune.Plan{}
	for i := range 60 {
		p.Changes = append(p.Changes, tune.Change{PID: kernel.TID(i + 1), TID: kernel.TID(i + 1), Comm: fmt.Sprintf("w%d", i),
			Attribute: tune.Nice, Before: fmt.Sprint(i % 19), After: "19", Status: tune.Planned})
	}
	checkGolden(t, "confirm-long", NewConfirmPlan(p))
	checkGolden(t, "confirm-keep", NewConfirm("Keep FIFO?", []Line{{Loud, "nqueens (3641) is FIFO:10 now"},
		{Plain, "If you cannot read this any more it is taken back by itself."}}, "keep", "take back").Countdown(15e9))
}
