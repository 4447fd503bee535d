// Package bench judges placements: a study is a workload that runs again and again
// under several of them, and Judge compares them statistically.
//
// Its packages are runner, which makes the runs, store, which keeps them, and stats, the
// numbers behind the judgement. Start at Study and Judge.
package bench

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/chart"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/workloads"
	"piton/workloads/workload"
)

// Study is one comparison to run. The names in JSON are those of package store's records.
type Study struct {
	Workload   string        `json:"workload"`        // "nqueens", "matrix"
	Args       []string      `json:"args"`            // the workload's own flags, e.g. "-n", "14"; the command line of CommandWorkload
	Figure     Figure        `json:"figure,omitzero"` // of CommandWorkload and, with a rate's name for a pattern, of a live process
	Period     time.Duration `json:"-"`               // of AttachWorkload: how long each placement is in force, interleaved
	Placements []Placement   `json:"placements"`      // the first is the base that the others are compared with
	Runs       int           `json:"runs"`            // measured runs per placement; with Until at least so many
	Warmup     int           `json:"warmup"`          // runs per placement that are not counted
	Timeout    time.Duration `json:"-"`               // for one run; 0 = none
	// Until ends the study when the 95 % interval of every placement is within this
	// share of its median; 0 = after Runs.
	Until  float64       `json:"until"`
	Added  int           `json:"added,omitempty"` // how often runs were added after the study had ended and been judged
	Budget time.Duration `json:"-"`               // no round begins after so long; 0 = no limit
	// Counters asks for performance counters of each run; they cost a little at every
	// context switch of the work.
	Counters bool `json:"counters,omitempty"`
	Noise    int  `json:"noise"` // processes of background load that the kernel may put on any CPU
	// Grid is the ID of the Grid that the study is a cell of, and Cell its place
	// there; "" for a study by itself.
	Grid string `json:"grid,omitempty"`
	Cell string `json:"cell,omitempty"`
}

// What a Study has where nothing is given, and its limits.
const (
	DefaultRuns    = 10 // enough for an interval of the median and the rank test
	DefaultWarmup  = 1
	WarmupIndex    = -1 // the Index of runs that are not counted
	DefaultTimeout = 10 * time.Minute
	MaxRuns        = 10_000
	MaxPlacements  = 32
	MaxNoise       = 1024 // processes
)

// Validate returns in one sentence what is wrong with the study.
func (s Study) Validate() error {
	w, values, err := s.settings()
	switch {
	case s.Workload == AttachWorkload: // package runner knows the rates, and looks when the study begins
		if _, err = s.Attached(); err == nil && s.Period <= 0 {
			err = errors.New("the period of a study of a process must be above 0")
		}
	case s.Workload == CommandWorkload && len(s.Args) == 0:
		return errors.New("a command is missing")
	case s.Workload == CommandWorkload:
		return errors.Join(s.Figure.Validate(), s.ValidateCounts())
	case err == nil:
		err = w.Validate(values)
	}
	return cmp.Or(err, s.ValidateCounts())
}

// ValidateCounts is Validate without a look at the work itself.
func (s Study) ValidateCounts() error {
	switch {
	case len(s.Placements) == 0:
		return fmt.Errorf("a study needs at least one placement")
	case len(s.Placements) > MaxPlacements:
		return fmt.Errorf("a study takes at most %d placements, not %d", MaxPlacements, len(s.Placements))
	case s.Runs < 1 || s.Runs > MaxRuns:
		return fmt.Errorf("the number of runs must be 1 to %d, not %d", MaxRuns, s.Runs)
	case s.Warmup < 0 || s.Warmup > MaxRuns:
		return fmt.Errorf("the number of warm-up runs must be 0 to %d, not %d", MaxRuns, s.Warmup)
	case s.Timeout < 0:
		return fmt.Errorf("the time limit of a run must not be negative")
	case s.Budget < 0:
		return fmt.Errorf("the budget of a study must not be negative")
	case s.Until < 0 || s.Until >= 1:
		return fmt.Errorf("the interval limit must be from 0 %% to 100 %% of the median, not %s", chart.Percent(s.Until))
	case s.Noise < 0 || s.Noise > MaxNoise:
		return fmt.Errorf("background load must be 0 to %d processes, not %d", MaxNoise, s.Noise)
	}
	seen := map[Placement]bool{}
	for _, p := range s.Placements {
		spec, err := ParsePlacement(string(p))
		if err != nil {
			return err
		}
		if seen[spec.Name()] {
			return fmt.Errorf("placement %q is given twice", p)
		}
		seen[spec.Name()] = true
	}
	return nil
}

// Canonical spells the arguments and placements of a valid study in the one way
// that results are kept under, so that equal studies are found again.
func (s Study) Canonical() Study {
	if w, values, err := s.settings(); err == nil {
		s.Args = w.Args(values)
	}
	s.Placements = slices.Clone(s.Placements)
	for i, p := range s.Placements {
		if spec, err := ParsePlacement(string(p)); err == nil {
			s.Placements[i] = spec.Name()
		}
	}
	return s
}

// Total is the number of runs of the study, warm-up included; with Until there can be more.
func (s Study) Total() int { return (s.Runs + s.Warmup) * len(s.Placements) }

// base is the placement that the others are compared with, "" where there is none.
func (s Study) base() Placement {
	if len(s.Placements) == 0 {
		return ""
	}
	return s.Placements[0]
}

// RunResult is one run of the workload, measured from outside. The names in JSON are those
// of package store's records.
type RunResult struct {
	Workload  string     `json:"workload"`
	Placement Placement  `json:"placement"`
	Index     int        `json:"index"` // 0-based among the measured runs of the placement; WarmupIndex for warm-up
	Started   time.Time  `json:"started"`
	PID       kernel.TID `json:"pid"`
	CPUs      string     `json:"cpus"`   // cpulist it was placed on, "" if not restricted
	Reason    string     `json:"reason"` // why it was placed there, in the placer's words
	Answer    string     `json:"answer"` // as the workload printed it
	// Wall is from the start of the work to its answer; process start and exit are not in it.
	Wall            time.Duration   `json:"-"`
	User            time.Duration   `json:"-"`                // of the whole process, start and exit included
	System          time.Duration   `json:"-"`                //
	Migrations      uint64          `json:"-"`                // of all threads, from the start of the work to its answer, without the placement's own
	MigrationSource string          `json:"migration_source"` // sample.Source's word
	RunDelay        time.Duration   `json:"-"`                // of all threads, from the start of the work to its answer
	HaveRunDelay    bool            `json:"-"`                //
	StealShare      float64         `json:"-"`                // of all CPUs' time that the hypervisor took meanwhile, 0..1
	HaveSteal       bool            `json:"-"`                // the run was long enough for /proc/stat to tell
	Others          float64         `json:"-"`                // CPUs that all other processes together used meanwhile
	HaveOthers      bool            `json:"-"`                // as HaveSteal
	Voluntary       uint64          `json:"voluntary_switches"`
	Involuntary     uint64          `json:"involuntary_switches"` // of the whole process, as Voluntary
	MinorFaults     uint64          `json:"minor_faults"`
	MajorFaults     uint64          `json:"major_faults"`
	MaxRSSBytes     uint64          `json:"max_rss_bytes"`
	Threads         int             `json:"threads"`               // when it answered
	Counts          []Count         `json:"counters,omitempty"`    // performance counters, when the study asked for them
	NoCounts        string          `json:"no_counters,omitempty"` // why some of them are missing, "" if none is
	Touched         bool            `json:"touched"`               // someone else changed its placement while it ran
	TouchedWhat     string          `json:"touched_what"`          // "affinity 1 became 0-1 of thread 123"
	ClockStep       time.Duration   `json:"-"`                     // by which the clock was set meanwhile, 0 = not
	Err             string          `json:"error"`                 // "" when it ran and its answer was right
	Detail          json.RawMessage `json:"detail,omitempty"`      // the workload's own result; in the study automatic, what its search found
	Metric          float64         `json:"-"`                     // what is compared, in the unit of the workload's Metric
	Seconds         float64         `json:"work_s"`                // the workload's own timing of its work
}

// Valid reports whether the run counts in a comparison: measured, right, and left alone.
func (r RunResult) Valid() bool { return r.Index >= 0 && r.Err == "" && !r.Touched }

// Results is a study with everything that came of it so far.
type Results struct {
	ID         string // of this run of the study, sorts by time
	Started    time.Time
	Study      Study
	Conditions Conditions
	Runs       []RunResult // in the order in which they ran
	// StoreErr is why results could not be kept in the file; they are all here.
	StoreErr error
}

// Of returns the runs of one placement.
func (r Results) Of(p Placement) []RunResult {
	return slices.DeleteFunc(slices.Clone(r.Runs), func(run RunResult) bool { return run.Placement != p })
}

// Answers is how many of the runs that gave an answer gave a right one. A run that could not
// be placed or was ended gave none.
func (r Results) Answers() (right, all int) {
	if r.Study.Workload == CommandWorkload || r.Study.Workload == AttachWorkload { // these give none
		return 0, 0
	}
	for _, run := range r.Runs {
		if run.Answer != "" || run.Seconds > 0 {
			all++
		}
		if run.Answer != "" && run.Err == "" {
			right++
		}
	}
	return right, all
}

// Took is the time from the first run to the end of the last one, 0 when the clock was set back.
func (r Results) Took() time.Duration {
	if len(r.Runs) == 0 {
		return 0
	}
	last := r.Runs[len(r.Runs)-1]
	return max(last.Started.Add(last.Wall).Sub(r.Runs[0].Started), 0)
}

// Rounds is how many whole rounds there are.
func (r Results) Rounds() int {
	least := len(r.Runs)
	for _, p := range r.Study.Placements {
		least = min(least, len(r.Of(p)))
	}
	return least
}

// HaveMigrations reports whether the migrations could be counted.
func (r RunResult) HaveMigrations() bool {
	return r.MigrationSource != "" && r.MigrationSource != sample.SourceNone.String()
}

// Metric is what the study's runs are compared by.
func (s Study) Metric() workload.Metric {
	if s.Figure != (Figure{}) || s.Workload == CommandWorkload || s.Workload == AttachWorkload {
		return workload.Metric{Name: s.Figure.Pattern, Unit: s.Figure.Unit, HigherIsBetter: s.Figure.HigherIsBetter}
	}
	w, _ := workloads.Find(s.Workload) // none of a newer piton, or of a test
	return w.Metric
}

// SameWork reports whether both studies measure the same work under the same background load.
func (s Study) SameWork(o Study) bool {
	return s.Workload == o.Workload && slices.Equal(s.Args, o.Args) && s.Noise == o.Noise && s.Figure == o.Figure
}

// Event is one step of a study: a run starts, or has ended.
type Event struct {
	Ended bool      // else the process is placed and about to start
	Study string    // Results.ID
	Run   RunResult // complete when Ended; before, its placement, index and PID
	Done  int       // runs that have ended, warm-up included
	Total int
	// Left estimates the time until the study ends; valid when HaveLeft.
	Left     time.Duration
	HaveLeft bool
}

// Grid is a table of studies that are interleaved, a round of each, repeatedly: cells
// that are compared are measured close in time, and as often when time runs out.
type Grid struct {
	ID      string        `json:"grid"`
	Started time.Time     `json:"started"`
	Papers  []string      `json:"papers"` // the published studies whose tables it fills
	Budget  time.Duration `json:"-"`
	Ended   time.Time     `json:"ended,omitzero"` // zero while it is unfinished
}

// NewGrid names one. Its cells are studies that carry its ID.
func NewGrid(papers []string, budget time.Duration) Grid {
	return Grid{ID: NewID(time.Now()), Started: time.Now(), Papers: papers, Budget: budget}
}

// NewID names one run of a study: the time, so that names sort, and four random
// bytes against two studies in the same second.
func NewID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

// Last is the last valid run of a placement.
func (r Results) Last(p Placement) (RunResult, bool) {
	for _, run := range slices.Backward(r.Runs) {
		if run.Placement == p && run.Valid() {
			return run, true
		}
	}
	return RunResult{}, false
}

// Drawn is what the study's workload makes of a run's Detail, nil where it draws
// nothing or is one of a newer piton.
func (r Results) Drawn(run RunResult) (workload.Result, error) {
	w, err := workloads.Find(r.Study.Workload)
	if err != nil || w.Result == nil {
		return nil, nil
	}
	return w.Result(run.Detail)
}

// Picture draws the last valid run of the study's base placement, in lines at
// most width cells wide; none if there is no such run or nothing to draw.
func (r Results) Picture(width int) ([]string, error) {
	last, ok := r.Last(r.Study.base())
	if !ok {
		return nil, nil
	}
	drawn, err := r.Drawn(last)
	if drawn == nil || err != nil {
		return nil, err
	}
	head := fmt.Sprintf("%s, run %d of %d:", last.Placement, last.Index+1, r.Study.Runs)
	return append([]string{head}, drawn.Picture(width)...), nil
}
