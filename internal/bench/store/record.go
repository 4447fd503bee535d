package store

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"piton/internal/bench"
	"piton/internal/kernel"
	"piton/workloads/workload"
)

// The lines of results.jsonl and of bench -o json. Names are stable: new ones
// may be added, none changes its meaning or unit. Times ending in _s are
// seconds, in _ns nanoseconds.

// recordVersion is the v of every line; a line without one is of version 1. It changes
// when a name or a meaning does, and lines of a higher one are not read.
const recordVersion = 1

// studyRecord is {"type":"study"}: what was asked for, and where.
type studyRecord struct {
	Type       string            `json:"type"`
	V          int               `json:"v"`
	ID         string            `json:"study"`
	Started    time.Time         `json:"started"`
	Workload   string            `json:"workload"`
	Args       []string          `json:"args"`
	Placements []bench.Placement `json:"placements"`      // the first is the base
	Runs       int               `json:"runs"`            // per placement
	Warmup     int               `json:"warmup"`          // per placement
	TimeoutS   float64           `json:"timeout_s"`       // of one run, 0 = none
	Until      float64           `json:"until"`           // share of the median that intervals were to be within, 0 = not asked for
	Added      int               `json:"added,omitempty"` // how often runs were added after a verdict
	BudgetS    float64           `json:"budget_s"`        // 0 = none
	Noise      int               `json:"noise"`           // processes of background load
	Counters   bool              `json:"counters,omitempty"`
	PeriodS    float64           `json:"period_s,omitempty"` // of a study of a process
	Figure     *figureRecord     `json:"figure,omitempty"`   // of a command, where it is not its time
	Grid       string            `json:"grid,omitempty"`     // that it is a cell of
	Cell       string            `json:"cell,omitempty"`
	Conditions bench.Conditions  `json:"conditions"`
}

type figureRecord struct {
	Pattern        string `json:"pattern"`
	Unit           string `json:"unit"`
	HigherIsBetter bool   `json:"higher_is_better"`
}

// runRecord is {"type":"run"}: one run.
type runRecord struct {
	Type            string          `json:"type"`
	V               int             `json:"v"`
	Study           string          `json:"study"`
	Workload        string          `json:"workload"`
	Placement       bench.Placement `json:"placement"`
	Index           int             `json:"index"` // -1 = warm-up
	Started         time.Time       `json:"started"`
	PID             kernel.TID      `json:"pid"`
	CPUs            string          `json:"cpus"` // "" = not restricted
	Reason          string          `json:"reason"`
	Answer          string          `json:"answer"`
	WorkS           float64         `json:"work_s"`          // by the workload's own clock
	Value           *float64        `json:"value,omitempty"` // what is compared, in the unit of the workload's metric; absent = work_s
	WallS           float64         `json:"wall_s"`
	UserS           float64         `json:"user_s"`
	SysS            float64         `json:"sys_s"`
	Migrations      *uint64         `json:"migrations"` // null = not known
	MigrationSource string          `json:"migration_source"`
	RunDelayNs      *int64          `json:"run_delay_ns"` // null = not known
	Steal           *float64        `json:"steal"`        // share of all CPUs' time, null = not known
	OtherCPUs       *float64        `json:"other_cpus"`   // CPUs that other processes used, null = not known
	Voluntary       uint64          `json:"voluntary_switches"`
	Involuntary     uint64          `json:"involuntary_switches"`
	MinorFaults     uint64          `json:"minor_faults"`
	MajorFaults     uint64          `json:"major_faults"`
	MaxRSSBytes     uint64          `json:"max_rss_bytes"`
	Threads         int             `json:"threads"`
	Counters        []bench.Count   `json:"counters,omitempty"`
	Derived         []bench.Count   `json:"derived,omitempty"`     // from the counters
	NoCounters      string          `json:"no_counters,omitempty"` // why some are missing
	Touched         bool            `json:"touched"`
	TouchedWhat     string          `json:"touched_what"`
	ClockStepS      float64         `json:"clock_step_s,omitempty"` // by which the clock was set meanwhile
	Error           string          `json:"error"`
	Detail          json.RawMessage `json:"detail,omitempty"` // the workload's own result; in the study automatic, what its search found
}

// comparisonRecord is {"type":"comparison"}: one placement against the base.
// Shares are of the base's median: -0.031 is 3.1 % less, of time unless metric
// names something else.
type comparisonRecord struct {
	Type            string          `json:"type"`
	V               int             `json:"v"`
	Study           string          `json:"study"`
	Workload        string          `json:"workload"`
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
	var figure *figureRecord
	if f := r.Study.Figure; f != (bench.Figure{}) {
		figure = (*figureRecord)(&f)
	}
	return studyRecord{
		Type: "study", V: recordVersion, ID: r.ID, Started: r.Started, Workload: r.Study.Workload, Args: r.Study.Args,
		Placements: r.Study.Placements, Runs: r.Study.Runs, Warmup: r.Study.Warmup,
		TimeoutS: r.Study.Timeout.Seconds(), Until: r.Study.Until, Added: r.Study.Added, BudgetS: r.Study.Budget.Seconds(), Noise: r.Study.Noise, Counters: r.Study.Counters, PeriodS: r.Study.Period.Seconds(), Figure: figure,
		Grid: r.Study.Grid, Cell: r.Study.Cell, Conditions: r.Conditions,
	}
}

func (s studyRecord) results() bench.Results {
	var figure bench.Figure
	if s.Figure != nil {
		figure = bench.Figure(*s.Figure)
	}
	return bench.Results{ID: s.ID, Started: s.Started, Conditions: s.Conditions, Study: bench.Study{
		Workload: s.Workload, Args: s.Args, Placements: s.Placements,
		Runs: s.Runs, Warmup: s.Warmup, Timeout: seconds(s.TimeoutS),
		Until: s.Until, Added: s.Added, Budget: seconds(s.BudgetS), Noise: s.Noise, Figure: figure, Counters: s.Counters, Period: seconds(s.PeriodS),
		Grid: s.Grid, Cell: s.Cell,
	}}
}

func newRunRecord(study string, r bench.RunResult) runRecord {
	rec := runRecord{
		Type: "run", V: recordVersion, Study: study, Workload: r.Workload, Placement: r.Placement, Index: r.Index, Started: r.Started,
		PID: r.PID, CPUs: r.CPUs, Reason: r.Reason, Answer: r.Answer, WorkS: r.Seconds,
		WallS: r.Wall.Seconds(), UserS: r.User.Seconds(), SysS: r.System.Seconds(),
		MigrationSource: r.MigrationSource, Voluntary: r.Voluntary, Involuntary: r.Involuntary,
		MinorFaults: r.MinorFaults, MajorFaults: r.MajorFaults, MaxRSSBytes: r.MaxRSSBytes,
		Threads: r.Threads, Touched: r.Touched, TouchedWhat: r.TouchedWhat, Error: r.Err, Detail: r.Detail, ClockStepS: r.ClockStep.Seconds(),
		Counters: r.Counts, Derived: bench.Derived(r.Counts), NoCounters: r.NoCounts,
	}
	if r.Metric != r.Seconds {
		rec.Value = &r.Metric
	}
	if r.HaveMigrations() {
		rec.Migrations = &r.Migrations
	}
	if r.HaveRunDelay {
		ns := r.RunDelay.Nanoseconds()
		rec.RunDelayNs = &ns
	}
	if r.HaveSteal {
		rec.Steal = &r.StealShare
	}
	if r.HaveOthers {
		rec.OtherCPUs = &r.Others
	}
	return rec
}

func (r runRecord) result() bench.RunResult {
	run := bench.RunResult{
		Workload: r.Workload, Placement: r.Placement, Index: r.Index, Started: r.Started,
		PID: r.PID, CPUs: r.CPUs, Reason: r.Reason, Answer: r.Answer, Seconds: r.WorkS, Metric: r.WorkS,
		Wall: seconds(r.WallS), User: seconds(r.UserS), System: seconds(r.SysS),
		MigrationSource: r.MigrationSource, Voluntary: r.Voluntary, Involuntary: r.Involuntary,
		MinorFaults: r.MinorFaults, MajorFaults: r.MajorFaults, MaxRSSBytes: r.MaxRSSBytes,
		Threads: r.Threads, Touched: r.Touched, TouchedWhat: r.TouchedWhat, Err: r.Error, Detail: r.Detail, ClockStep: seconds(r.ClockStepS),
		Counts: r.Counters, NoCounts: r.NoCounters,
	}
	if r.Value != nil {
		run.Metric = *r.Value
	}
	if r.Migrations != nil {
		run.Migrations = *r.Migrations
	}
	if r.RunDelayNs != nil {
		run.RunDelay, run.HaveRunDelay = time.Duration(*r.RunDelayNs), true
	}
	if r.Steal != nil {
		run.StealShare, run.HaveSteal = *r.Steal, true
	}
	if r.OtherCPUs != nil {
		run.Others, run.HaveOthers = *r.OtherCPUs, true
	}
	return run
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

// marshal writes one line without its end, and "p < 0.01" as it is: no browser
// reads it.
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

// ComparisonJSON is the line of one comparison.
func ComparisonJSON(study, work string, c bench.Comparison) ([]byte, error) {
	rec := comparisonRecord{
		Type: "comparison", V: recordVersion, Study: study, Workload: work, Base: c.Base.Placement, Placement: c.Other.Placement,
		BaseRuns: c.Base.Runs, Runs: c.Other.Runs, BaseMedianS: c.Base.Work, MedianS: c.Other.Work,
		P: c.P, PAdjusted: c.PAdjusted, Different: c.Different, Verdict: c.Verdict, Warnings: c.Warnings,
	}
	if rec.Warnings == nil {
		rec.Warnings = []string{}
	}
	if m := c.Metric; m != (workload.Metric{}) {
		rec.Metric, rec.Unit, rec.HigherIsBetter = m.Name, m.Unit, m.HigherIsBetter
		rec.BaseMedian, rec.Median = &c.Base.Median, &c.Other.Median
	}
	switch {
	case c.NoShare:
		rec.Difference = &c.Delta
		if c.HaveInterval {
			rec.DifferenceLow, rec.DifferenceHigh = &c.Low, &c.High
		}
		return marshal(rec)
	case c.Comparable:
		rec.Delta = &c.Delta
	}
	if c.HaveInterval {
		rec.DeltaLow, rec.DeltaHigh, rec.SmallestVisible = &c.Low, &c.High, &c.Visible
	}
	return marshal(rec)
}
