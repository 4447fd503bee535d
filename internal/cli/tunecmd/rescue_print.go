package tunecmd

import (
	"fmt"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/rescue"
)

func (r *rescuer) print(tasks []rescue.Task, limits procfs.Throttling) {
	var rows []rtTask
	for i, k := range tasks {
		if k.Eating() {
			rows = append(rows, rtTask{k, i + 1})
		}
	}
	asleep := len(tasks) - len(rows)
	switch {
	case r.output.JSON():
		rtTaskList.Write(r, rows, r.output)
		rescueList.JSON(r, rescued{limits, r.delay.Duration, len(rows), asleep})
		return
	case len(rows) > 0:
		rtTaskList.Write(r, rows, r.output)
	default:
		fmt.Fprintln(r, "no real-time task takes CPU time")
	}
	fmt.Fprintf(r, "%d more real-time tasks are asleep. %v.\n", asleep, limits)
}

// rtTask is a task with its number in the table.
type rtTask struct {
	rescue.Task
	no int
}

// rescued is the machine behind the tasks.
type rescued struct {
	procfs.Throttling
	window         time.Duration
	eating, asleep int
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

var (
	rtTaskList = output.NewList("rescue", "rt_task", "a real-time task that takes CPU time",
		output.Col("no", ">NO", output.Int, "its number in the table", func(k rtTask) any { return k.no }),
		output.Col("pid", ">PID", output.Int, "process", func(k rtTask) any { return int(k.PID) }),
		output.Col("tid", ">TID", output.Int, "thread", func(k rtTask) any { return int(k.TID) }),
		output.Col("comm", "COMM", output.Text, "its name", func(k rtTask) any { return k.Comm }),
		output.Col("policy", "POLICY", output.Text, "FIFO, RR or DEADLINE", func(k rtTask) any { return k.Policy.String() }).
			As(func(k rtTask) string { return rtPolicyText(k.Task) }),
		output.Col("rtprio", "", output.Int, "real-time priority", func(k rtTask) any { return k.RTPrio }),
		output.Col("cpu_percent", ">CPU%", output.Number, "share of a CPU", func(k rtTask) any { return k.Share * 100 }).
			As(func(k rtTask) string { return fmt.Sprintf("%.1f", k.Share*100) }),
		output.Col("never_sleeps", "", output.Bool, "it never slept meanwhile", func(k rtTask) any { return k.Waiting }),
		output.Col("cpu", ">CPU", output.Int, "CPU it was last on", func(k rtTask) any { return k.LastCPU }),
		output.Col("kernel_thread", "STATE", output.Bool, "it is a kernel thread", func(k rtTask) any { return k.Kernel }).
			As(func(k rtTask) string { return stateText(k.Task) }))
	rescueList = output.NewList("rescue", "rescue", "what the kernel leaves to ordinary tasks",
		output.Col("window_s", "", output.Number, "time that was measured", func(r rescued) any { return r.window.Seconds() }),
		output.Col("eating", "", output.Int, "real-time tasks that take CPU time", func(r rescued) any { return r.eating }),
		output.Col("asleep", "", output.Int, "those that do not", func(r rescued) any { return r.asleep }),
		output.Col("rt_runtime_us", "", output.Int, "sched_rt_runtime_us", func(r rescued) any { return r.RuntimeUs }),
		output.Col("rt_period_us", "", output.Int, "sched_rt_period_us", func(r rescued) any { return r.PeriodUs }),
		output.Col("fair_server_ns", "", output.MaybeInt, "of the fair server, a second",
			func(r rescued) any { return field.Known(r.ServerNs, r.ServerNs >= 0) }),
		output.Col("throttling", "", output.Text, "that in words", func(r rescued) any { return r.Throttling.String() }))
)
