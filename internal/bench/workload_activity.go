package bench

import (
	"context"
	"strconv"

	"piton/workloads/activity"
)

var activityTracker = Workload{
	Name:   "activity",
	Help:   "CPU time lost to other tasks and interrupts",
	Length: "ms",
	Metric: Metric{Name: "time lost", Unit: "%"},
	Params: []Param{
		{Name: "ms", Help: "observation time in milliseconds", Default: "1000", Min: activity.MinMs, Max: activity.MaxMs},
		{Name: "counter", Help: "time source: counter of the CPU, or clock of the kernel", Default: string(activity.Auto), Choices: words(activity.Counters)},
	},
	Check: func(v Values) error { return activityOptions(v).Validate() },
	Run: func(ctx context.Context, v Values) (Outcome, error) {
		w := watchCPUs()
		r, err := activity.Run(ctx, activityOptions(v))
		r.Occupants, r.Unnamed = w.occupants(r.CPUs)
		return Outcome{Answer: strconv.Itoa(r.Ms), Seconds: r.Observed, Value: r.Share * 100, Detail: r}, err
	},
	Picture: picture(activity.Picture),
}

func activityOptions(v Values) activity.Options {
	return activity.Options{Ms: v.Int("ms"), Counter: activity.Counter(v["counter"])}
}
