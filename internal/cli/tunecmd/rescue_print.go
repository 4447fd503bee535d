package tunecmd

import (
	"fmt"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/cli/output"
	"piton/internal/kernel"
	"piton/internal/rescue"
)

func (r *rescuer) printTable(tasks []rescue.Task, limits rescue.Throttling) {
	t := output.NewTable(">NO", ">PID", ">TID", "COMM", "POLICY", ">CPU%", ">CPU", "STATE")
	asleep := 0
	for i, k := range tasks {
		if !k.Eating() {
			asleep++
			continue
		}
		t.Add(i+1, k.PID, k.TID, k.Comm, rtPolicyText(k), fmt.Sprintf("%.1f", k.Share*100), k.LastCPU, stateText(k))
	}
	if len(t.Rows) > 0 {
		t.Write(r)
	} else {
		fmt.Fprintln(r, "no real-time task takes CPU time")
	}
	fmt.Fprintf(r, "%d more real-time tasks are asleep. %v.\n", asleep, limits)
}

func rtPolicyText(k rescue.Task) string {
	if k.Policy == kernel.Deadline {
		return k.Policy.String()
	}
	return attr.PolicyValue{Policy: k.Policy, RTPrio: k.RTPrio}.String()
}

func stateText(k rescue.Task) string {
	var words []string
	if k.Waiting {
		words = append(words, "never sleeps")
	}
	if k.Kernel {
		words = append(words, "kernel thread")
	}
	return output.Dash(strings.Join(words, ", "))
}

func (r *rescuer) printJSON(tasks []rescue.Task, limits rescue.Throttling) {
	var l output.Line
	eating := 0
	for _, k := range tasks {
		if !k.Eating() {
			continue
		}
		eating++
		l.Start("rt_task").Add("pid", int(k.PID)).Add("tid", int(k.TID)).Add("comm", k.Comm).Add("policy", k.Policy.String()).
			Add("rtprio", k.RTPrio).Add("cpu_percent", k.Share*100).Add("never_sleeps", k.Waiting).
			Add("cpu", k.LastCPU).Add("kernel_thread", k.Kernel).Write(r)
	}
	l.Start("rescue").Add("window_s", r.delay.Duration.Seconds()).Add("eating", eating).Add("asleep", len(tasks)-eating).
		Add("rt_runtime_us", limits.RuntimeUs).Add("rt_period_us", limits.PeriodUs).
		Known("fair_server_ns", limits.ServerNs, limits.ServerNs >= 0).Add("throttling", limits.String()).Write(r)
}
