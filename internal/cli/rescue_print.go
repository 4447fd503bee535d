package cli

import (
	"fmt"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/rescue"
)

func (r *rescuer) printTable(tasks []rescue.Task, limits rescue.Throttling) {
	t := newTable(">NO", ">PID", ">TID", "COMM", "POLICY", ">CPU%", ">CPU", "STATE")
	asleep := 0
	for i, k := range tasks {
		if !k.Eating() {
			asleep++
			continue
		}
		t.add(i+1, k.PID, k.TID, k.Comm, rtPolicyText(k), fmt.Sprintf("%.1f", k.Share*100), k.LastCPU, stateText(k))
	}
	if len(t.rows) > 0 {
		t.write(r)
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
	return dash(strings.Join(words, ", "))
}

func (r *rescuer) printJSON(tasks []rescue.Task, limits rescue.Throttling) {
	var l line
	eating := 0
	for _, k := range tasks {
		if !k.Eating() {
			continue
		}
		eating++
		l.start("rt_task").add("pid", int(k.PID)).add("tid", int(k.TID)).add("comm", k.Comm).add("policy", k.Policy.String()).
			add("rtprio", k.RTPrio).add("cpu_percent", k.Share*100).add("never_sleeps", k.Waiting).add("cpu", k.LastCPU).add("kernel_thread", k.Kernel)
		l.write(r)
	}
	l.start("rescue").add("v", Version).add("window_s", r.window.d.Seconds()).add("eating", eating).add("asleep", len(tasks)-eating).
		add("rt_runtime_us", limits.RuntimeUs).add("rt_period_us", limits.PeriodUs).
		add("fair_server_ns", orNull(limits.ServerNs, limits.ServerNs >= 0)).add("throttling", limits.String()).write(r)
}
