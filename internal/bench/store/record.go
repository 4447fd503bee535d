package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"time"

	"piton/internal/bench"
	"piton/workloads/workload"
)

// The lines of results.jsonl and of bench -o json. Names are stable: new ones may be added,
// none changes its meaning or unit. Times ending in _s are seconds, in _ns nanoseconds.

// recordVersion is the v of every line; a line without one is of version 1. It changes
// when a name or a meaning does, and lines of a higher one are not read.
const recordVersion = 1

// studyRecord is {"type":"study"}: what was asked for, and where. A Study's Runs and Warmup
// are per placement, its Until is a share of the median.
type studyRecord struct {
	Type    string    `json:"type"`
	V       int       `json:"v"`
	ID      string    `json:"study"`
	Started time.Time `json:"started"`
	bench.Study
	TimeoutS   float64          `json:"timeout_s"`          // of one run, 0 = none
	BudgetS    float64          `json:"budget_s"`           // 0 = none
	PeriodS    float64          `json:"period_s,omitempty"` // of a study of a process
	Conditions bench.Conditions `json:"conditions"`
}

// runRecord is {"type":"run"}: one run.
type runRecord struct {
	Type  string `json:"type"`
	V     int    `json:"v"`
	Study string `json:"study"`
	bench.RunResult
	Value      *float64       `json:"value,omitempty"` // what is compared, in the unit of the workload's metric; absent = work_s
	WallS      float64        `json:"wall_s"`
	UserS      float64        `json:"user_s"`
	SysS       float64        `json:"sys_s"`
	Migrations *uint64        `json:"migrations"`             // null = not known
	RunDelay   *time.Duration `json:"run_delay_ns"`           // null = not known
	Steal      *float64       `json:"steal"`                  // share of all CPUs' time, null = not known
	OtherCPUs  *float64       `json:"other_cpus"`             // CPUs that other processes used, null = not known
	Derived    []bench.Count  `json:"derived,omitempty"`      // from the counters
	ClockStepS float64        `json:"clock_step_s,omitempty"` // by which the clock was set meanwhile
}

// gridRecord is {"type":"grid"}: one when it begins and one when it ends.
type gridRecord struct {
	Type string `json:"type"`
	V    int    `json:"v"`
	bench.Grid
	BudgetS float64 `json:"budget_s"`
}

// comparisonRecord is {"type":"comparison"}: one placement against the base. Shares are of the
// base's median: -0.031 is 3.1 % less, of time unless metric names something else.
type comparisonRecord struct {
	Type            string          `json:"type"`
	V               int             `json:"v"`
	Study           string          `json:"study"`
	Workload        string          `json:"workload"`
	BaseStudy       string          `json:"base_study,omitempty"` // that Base is of, where it is another one
	Base            bench.Placement `json:"base"`
	Placement       bench.Placement `json:"placement"`
	BaseRuns        int             `json:"base_runs"`
	Runs            int             `json:"runs"`
	Metric          string          `json:"metric,omitempty"` // what is compared; absent = the seconds of the work
	Unit            string          `json:"unit,omitempty"`   // of metric
	HigherIsBetter  bool            `json:"higher_is_better,omitempty"`
	BaseMedian      *float64        `json:"base_median,omitempty"` // of metric, in its unit
	Median          *float64        `json:"median,omitempty"`
	BaseMedianS     float64         `json:"base_median_s"` // of the seconds of the work
	MedianS         float64         `json:"median_s"`
	Delta           *float64        `json:"delta"` // null = nothing to compare, or the base's median is 0 or less
	DeltaLow        *float64        `json:"delta_low"`
	DeltaHigh       *float64        `json:"delta_high"`
	Difference      *float64        `json:"difference,omitempty"` // where there is no delta, in the metric's unit
	DifferenceLow   *float64        `json:"difference_low,omitempty"`
	DifferenceHigh  *float64        `json:"difference_high,omitempty"`
	P               float64         `json:"p"`          // rank test
	PAdjusted       float64         `json:"p_adjusted"` // for the number of comparisons
	Different       bool            `json:"different"`
	SmallestVisible *float64        `json:"smallest_visible"` // effect found four times out of five
	Verdict         string          `json:"verdict"`
	Warnings        []string        `json:"warnings"`
}

func newStudyRecord(r bench.Results) studyRecord {
	return studyRecord{Type: "study", V: recordVersion, ID: r.ID, Started: r.Started, Study: r.Study, Conditions: r.Conditions,
		TimeoutS: r.Study.Timeout.Seconds(), BudgetS: r.Study.Budget.Seconds(), PeriodS: r.Study.Period.Seconds()}
}

func (s studyRecord) results() bench.Results {
	s.Timeout, s.Budget, s.Period = seconds(s.TimeoutS), seconds(s.BudgetS), seconds(s.PeriodS)
	return bench.Results{ID: s.ID, Started: s.Started, Conditions: s.Conditions, Study: s.Study}
}

func newRunRecord(study string, r bench.RunResult) runRecord {
	return runRecord{Type: "run", V: recordVersion, Study: study, RunResult: r, Value: known(r.Metric, r.Metric != r.Seconds),
		WallS: r.Wall.Seconds(), UserS: r.User.Seconds(), SysS: r.System.Seconds(), ClockStepS: r.ClockStep.Seconds(),
		Migrations: known(r.Migrations, r.HaveMigrations()), RunDelay: known(r.RunDelay, r.HaveRunDelay),
		Steal: known(r.StealShare, r.HaveSteal), OtherCPUs: known(r.Others, r.HaveOthers), Derived: bench.Derived(r.Counts)}
}

func (r runRecord) result() bench.RunResult {
	run := r.RunResult
	run.Wall, run.User, run.System, run.ClockStep = seconds(r.WallS), seconds(r.UserS), seconds(r.SysS), seconds(r.ClockStepS)
	run.Metric = *cmp.Or(r.Value, &run.Seconds)
	run.Migrations, _ = value(r.Migrations)
	run.RunDelay, run.HaveRunDelay = value(r.RunDelay)
	run.StealShare, run.HaveSteal = value(r.Steal)
	run.Others, run.HaveOthers = value(r.OtherCPUs)
	return run
}

// known is a value that is null where it is not had; value reads it.
func known[T any](v T, have bool) *T {
	if !have {
		return nil
	}
	return &v
}

func value[T any](p *T) (v T, have bool) {
	if p != nil {
		v = *p
	}
	return v, p != nil
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

// marshal writes one line without its end, and "p < 0.01" as it is: no browser reads it.
func marshal(record any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(record)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// Records are an empty record of each type of line that a benchmark prints.
func Records() map[string]any {
	return map[string]any{"study": studyRecord{}, "run": runRecord{}, "comparison": comparisonRecord{}}
}

// RunJSON is the line of one run.
func RunJSON(study string, r bench.RunResult) ([]byte, error) { return marshal(newRunRecord(study, r)) }

// StudyJSON is the line of a study.
func StudyJSON(r bench.Results) ([]byte, error) { return marshal(newStudyRecord(r)) }

// ComparisonJSON is the line of one comparison; base is the study of the base, "" for study.
func ComparisonJSON(base, study, work string, c bench.Comparison) ([]byte, error) {
	share, metric := c.Comparable && !c.NoShare, c.Metric != (workload.Metric{})
	return marshal(comparisonRecord{
		Type: "comparison", V: recordVersion, Study: study, Workload: work, BaseStudy: base, Base: c.Base.Placement, Placement: c.Other.Placement,
		Metric: c.Metric.Name, Unit: c.Metric.Unit, HigherIsBetter: c.Metric.HigherIsBetter,
		BaseRuns: c.Base.Runs, Runs: c.Other.Runs, BaseMedianS: c.Base.Work, MedianS: c.Other.Work,
		BaseMedian: known(c.Base.Median, metric), Median: known(c.Other.Median, metric),
		Delta: known(c.Delta, share), DeltaLow: known(c.Low, share && c.HaveInterval), DeltaHigh: known(c.High, share && c.HaveInterval),
		Difference: known(c.Delta, c.NoShare), DifferenceLow: known(c.Low, c.NoShare && c.HaveInterval), DifferenceHigh: known(c.High, c.NoShare && c.HaveInterval),
		P: c.P, PAdjusted: c.PAdjusted, Different: c.Different, SmallestVisible: known(c.Visible, share && c.HaveInterval),
		Verdict: c.Verdict, Warnings: append([]string{}, c.Warnings...),
	})
}
