// Package bench judges placements: a study is a workload that runs again and again
// under several of them, and Judge compares them statistically.
//
// Its packages are runner, which makes the runs, store, which keeps them, and stats, the
// numbers behind the judgement. Start at Study and Judge.
package bench

import (
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

// Study is one comparison to run.
type Study struct {
	Workload   string        // "nqueens", "matrix"
	Args       []string      // the workload's own flags, e.g. "-n", "14"; the command line of CommandWorkload
	Figure     Figure        // of CommandWorkload and, with a rate's name for a pattern, of a live process
	Period     time.Duration // of AttachWorkload: how long each placement is in force, interleaved
	Placements []Placement   // the first is the base that the others are compared with
	Runs       int           // measured runs per placement; with Until at least so many
	Warmup     int           // runs per placement that are not counted
	Timeout    time.Duration // for one run; 0 = none
	// Until ends the study when the 95 % interval of every placement is within this
	// share of its median; 0 = after Runs.
	Until  float64
	Added  int           // how often runs were added after the study had ended and been judged
	Budget time.Duration // no round begins after so long; 0 = no limit
	// Counters asks for performance counters of each run; they cost a little at every
	// context switch of the work.
	Counters bool
	Noise    int // processes of background load that the kernel may put on any CPU
	// Grid is the ID of the Grid that the study is a cell of, and Cell its place
	// there; "" for a study by itself.
	Grid, Cell string
}

// DefaultTimeout is the Timeout of piton bench where none is given.
const DefaultTimeout = 10 * time.Minute

// Limits of a Study. MaxNoise is how many processes of background load it may have.
const (
	MaxRuns       = 10_000
	MaxPlacements = 32
	MaxNoise      = 1024
)

// Validate returns in one sentence what is wrong with the study.
func (s Study) Validate() error {
	if s.Workload == AttachWorkload {
		return s.validateAttach()
	}
	if s.Workload == CommandWorkload {
		if len(s.Args) == 0 {
			return errors.New("a command is missing")
		}
		return errors.Join(s.Figure.Validate(), s.ValidateCounts())
	}
	w, err := workloads.Find(s.Workload)
	if err != nil {
		return err
	}
	values, err := w.Parse(s.Args)
	if err != nil {
		return err
	}
	if err := w.Validate(values); err != nil {
		return err
	}
	return s.ValidateCounts()
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
	if w, err := workloads.Find(s.Workload); err == nil {
		if values, err := w.Parse(s.Args); err == nil {
			s.Args = w.Args(values)
		}
	}
	named := make([]Placement, len(s.Placements))
	for i, p := range s.Placements {
		named[i] = p
		if spec, err := ParsePlacement(string(p)); err == nil {
			named[i] = spec.Name()
		}
	}
	s.Placements = named
	return s
}

// Total is the number of runs of the study, warm-up included; with Until there can be more.
func (s Study) Total() int { return (s.Runs + s.Warmup) * len(s.Placements) }

// WarmupIndex is the Index of runs that are not counted.
const WarmupIndex = -1

// RunResult is one run of the workload, measured from outside.
type RunResult struct {
	Workload  string
	Placement Placement
	Index     int // 0-based among the measured runs of the placement; WarmupIndex for warm-up
	PID       kernel.TID
	Started   time.Time
	// Wall is from the start of the work to its answer; process start and
	// exit are not in it.
	Wall            time.Duration
	User            time.Duration // of the whole process, start and exit included
	System          time.Duration
	Migrations      uint64 // of all threads, from the start of the work to its answer
	MigrationSource string // sample.Source's word
	Voluntary       uint64 // switches of the whole process
	Involuntary     uint64
	RunDelay        time.Duration // of all threads, from the start of the work to its answer
	HaveRunDelay    bool
	Threads         int     // when it answered
	StealShare      float64 // of all CPUs' time that the hypervisor took meanwhile, 0..1
	HaveSteal       bool    // the run was long enough for /proc/stat to tell
	Others          float64 // CPUs that all other processes together used meanwhile
	HaveOthers      bool    // as HaveSteal
	MinorFaults     uint64
	MajorFaults     uint64
	MaxRSSBytes     uint64
	Answer          string          // as the workload printed it
	Seconds         float64         // the workload's own timing of its work
	Metric          float64         // what is compared, in the unit of the workload's Metric
	Detail          json.RawMessage // the workload's own result
	Counts          []Count         // performance counters, when the study asked for them
	NoCounts        string          // why some of them are missing, "" if none is
	Touched         bool            // someone else changed its placement while it ran
	ClockStep       time.Duration   // by which the clock was set meanwhile, 0 = not
	TouchedWhat     string          // "affinity 1 became 0-1 of thread 123"
	Err             string          // "" when it ran and its answer was right
	CPUs            string          // cpulist it was placed on, "" if not restricted
	Reason          string          // why it was placed there, in the placer's words
}

// Valid reports whether the run counts in a comparison: measured, right, and
// left alone.
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
	var out []RunResult
	for _, run := range r.Runs {
		if run.Placement == p {
			out = append(out, run)
		}
	}
	return out
}

// Answers is the last right answer and how many of the runs that gave an answer gave a
// right one. A run that could not be placed or was ended gave none.
func (r Results) Answers() (text string, right, all int) {
	if r.Study.Workload == CommandWorkload || r.Study.Workload == AttachWorkload { // these give none
		return "", 0, 0
	}
	for _, run := range r.Runs {
		switch {
		case run.Err == "" && run.Answer != "":
			text = run.Answer
			right++
			all++
		case run.Answer != "" || run.Seconds > 0:
			all++
		}
	}
	return text, right, all
}

// Took is the time from the first run to the end of the last one, 0 when the clock was set back.
func (r Results) Took() time.Duration {
	if len(r.Runs) == 0 {
		return 0
	}
	last := r.Runs[len(r.Runs)-1]
	return max(last.Started.Add(last.Wall).Sub(r.Runs[0].Started), 0)
}

// HaveMigrations reports whether the migrations could be counted.
func (r RunResult) HaveMigrations() bool {
	return r.MigrationSource != "" && r.MigrationSource != sample.SourceNone.String()
}

// Metric is what the study's runs are compared by.
func (s Study) Metric() workload.Metric {
	if s.Figure != (Figure{}) || s.Workload == CommandWorkload || s.Workload == AttachWorkload {
		return s.Figure.metric()
	}
	w, err := workloads.Find(s.Workload)
	if err != nil {
		return workload.Metric{} // a workload of a newer piton, or of a test
	}
	return w.Metric
}

// SameWork reports whether both studies measure the same work under the same
// background load.
func (s Study) SameWork(o Study) bool {
	return s.Workload == o.Workload && slices.Equal(s.Args, o.Args) && s.Noise == o.Noise && s.Figure == o.Figure
}
