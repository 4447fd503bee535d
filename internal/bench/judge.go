package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"piton/internal/bench/stats"
	"piton/internal/chart"
	"piton/internal/group"
	"piton/workloads/workload"
)

// confidence of all intervals; 1-confidence is the level of the tests.
const confidence = 0.95

// Arm is the runs of one placement, summed up.
type Arm struct {
	Placement Placement
	Runs      int // valid ones; all figures are theirs
	Failed    int
	Touched   int
	// Median is of the workload's Metric; Low and High are its 95 % interval, from
	// order statistics, when HaveInterval (6 runs or more).
	Median, Low, High float64
	HaveInterval      bool
	Work              float64 // median of the workload's own seconds
	Migrations        float64 // median
	HaveMigrations    bool
	// Wait is the median of the run delay as a share of the wall time; of several threads
	// as a share of the time that they wanted to run.
	Wait     float64
	HaveWait bool
	Counts   []Count // medians of the counters and of what they give together; Share is the least
	values   []float64
	err      string // of the first run that failed
	touched  string // what was changed of the first run that was
	short    bool   // Work is under TooShort
}

// Comparison is one arm against the base. Shares are of the base's figure: -0.031
// is 3.1 % less; of the seconds, so faster.
type Comparison struct {
	Metric      workload.Metric
	Base, Other Arm
	Comparable  bool    // both have valid runs
	Delta       float64 // Hodges-Lehmann estimate, as a share
	Low, High   float64 // its 95 % interval, when HaveInterval (4 runs each)
	// NoShare says that Delta, Low, High and Visible are no shares but in the
	// metric's unit: the base's median is 0 or less, so nothing is a share of it.
	NoShare bool
	// Visible is the smallest effect that a study with this much noise finds four
	// times out of five, as a share; when HaveInterval.
	Visible      float64
	HaveInterval bool
	P            float64 // Mann-Whitney test, two-sided
	PAdjusted    float64 // by Holm, for all comparisons with this base
	Different    bool    // judged, and PAdjusted < 0.05
	// Unjudged is why there is no verdict: the runs are too short, or too few to show even
	// the largest difference. Then nothing above is a finding.
	Unjudged string
	more     bool   // the other arm's figures are the larger ones, by their ranks
	Verdict  string // in words: "3.1 % faster (1.9 to 4.2 %, p = 0.002)"
	Warnings []string
}

// Report is what a study found.
type Report struct {
	Metric      workload.Metric // of all figures
	Asked       int             // runs per placement; 0 = until the intervals are narrow
	Arms        []Arm           // in the study's order, the base first
	Comparisons []Comparison    // of each later arm with the base
	Short       string          // that the runs are too short to judge; "" when they are not
	// Others is how many CPUs others used during the runs, when HaveOthers; Noise is how many
	// busy processes of it were started as background load.
	Others          float64
	HaveOthers      bool
	Noise           int
	right, answered int      // see Results.Answers
	Warnings        []string // what changes most what to think first
}

// TooShort is the time of the work below which a run says little: starting,
// placing and one interruption weigh as much as the work.
const TooShort = 0.050 // seconds

// Judge sums up a study, finished or not.
func Judge(r Results) Report {
	rep := Report{Metric: r.Study.Metric(), Asked: r.Study.Runs, Noise: r.Study.Noise, Arms: r.Arms()}
	if r.Study.Until > 0 {
		rep.Asked = 0
	}
	// That of a single run is known to a tick of each CPU, and can be below 0.
	others, have := mean(r.Runs, func(run RunResult) (float64, bool) { return run.Others, run.HaveOthers })
	rep.Others, rep.HaveOthers = max(others, 0), have
	rep.right, rep.answered = r.Answers()
	for _, other := range rep.Arms[min(len(rep.Arms), 1):] {
		rep.Comparisons = append(rep.Comparisons, compare(rep.Metric, rep.Arms[0], other))
	}
	correct(rep.Comparisons, r.Study.Added)
	rep.Short = r.Study.ShortRuns(rep.Shortest())
	measured, asked := 0, rep.Asked*len(rep.Arms)
	for _, a := range rep.Arms {
		measured += a.Runs + a.Failed + a.Touched
		if a.Failed > 0 {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("%s: %s failed and left out: %s", a.Placement, chart.Plural(a.Failed, "run"), a.err))
		}
		if a.Touched > 0 {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("%s: %s changed by someone else while running and left out: %s", a.Placement, chart.Plural(a.Touched, "run"), a.touched))
		}
	}
	if i := slices.IndexFunc(rep.Comparisons, Comparison.odd); i >= 0 {
		c, where := rep.Comparisons[i], "above"
		if c.medians() < 0 {
			where = "below"
		}
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("the median of %s is %s %s that of %s, unlike the effect, which is the median over all pairs of runs",
			c.Other.Placement, chart.Percent(math.Abs(c.medians())), where, c.Base.Placement))
	}
	if i := slices.IndexFunc(r.Runs, func(run RunResult) bool { return run.ClockStep != 0 }); i >= 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("the clock was set by %v during the runs; times of day before and after do not fit together, lengths of time are right", r.Runs[i].ClockStep))
	}
	if steal, _ := mean(r.Runs, func(run RunResult) (float64, bool) { return run.StealShare, run.HaveSteal }); steal >= noticeableSteal {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("the hypervisor took %s of the CPUs' time during the runs", chart.Percent(steal)))
	}
	if r.Study.Grid == "" && measured > 0 && measured < asked {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("ended early: %d of %s", measured, chart.Plural(asked, "run")))
	}
	rep.Warnings = append(rep.Warnings, countWarnings(r.Runs)...)
	return rep
}

// Shortest is the least median of the work's seconds, 0 when not known.
func (rep Report) Shortest() (least float64) {
	for _, a := range rep.Arms {
		if a.Runs > 0 && (least == 0 || a.Work < least) {
			least = a.Work
		}
	}
	return least
}

// ShortRuns says that runs whose work takes so many seconds are too short to judge by;
// "" when they are not, or when 0 = not known.
func (s Study) ShortRuns(work float64) string {
	if work <= 0 || work >= TooShort || s.Workload == AttachWorkload {
		return ""
	}
	text := fmt.Sprintf("Runs of %s are too short to judge", chart.Quantity(work, "s"))
	w, _, err := s.settings()
	if err != nil {
		return text + "."
	}
	text += fmt.Sprintf(": use a larger %s", workload.Param{Name: w.Length}.Flag())
	took := Results{Study: s, Runs: []RunResult{{Seconds: work}}}
	if fit, ok := s.Fitted([]Results{took}); ok {
		if f, ok := fit.Forecast([]Results{took}); ok {
			text += fmt.Sprintf(" (%s takes about %s)", strings.TrimPrefix(fit.Length(), w.Length+" "), chart.Clock(f.Each))
		}
	}
	return text + "."
}

// Narrow reports whether the interval of every placement is within a share of its median.
func (r Results) Narrow(share float64) bool {
	for _, a := range r.Arms() {
		if !a.HaveInterval || max(a.High-a.Median, a.Median-a.Low) > share*math.Abs(a.Median) {
			return false
		}
	}
	return true
}

// Arms are the runs of each placement, in the study's order.
func (r Results) Arms() []Arm {
	return group.Each(r.Study.Placements, func(p Placement) Arm { return newArm(p, r.Of(p)) })
}

func newArm(p Placement, runs []RunResult) Arm {
	a := Arm{Placement: p}
	var work, migrations, wait []float64
	for _, run := range runs {
		switch {
		case run.Index < 0:
			continue
		case run.Err != "":
			a.Failed++
			a.err = cmp.Or(a.err, run.Err)
		case run.Touched:
			a.Touched++
			a.touched = cmp.Or(a.touched, run.TouchedWhat)
		default:
			a.values, work = append(a.values, run.Metric), append(work, run.Seconds)
			if run.HaveMigrations() {
				migrations = append(migrations, float64(run.Migrations))
			}
			if run.HaveRunDelay && run.Wall > 0 {
				wanted := run.RunDelay + run.User + run.System
				wait = append(wait, run.RunDelay.Seconds()/max(run.Wall, wanted).Seconds())
			}
		}
	}
	if a.Runs = len(a.values); a.Runs == 0 {
		return a
	}
	a.Counts = medianCounts(runs)
	s := benchmath.AssumeNothing.Summary(newSample(a.values), confidence)
	a.Median, a.Low, a.High = s.Center, s.Lo, s.Hi
	a.HaveInterval = !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0)
	a.Work = chart.Middle(work)
	a.short = a.Work > 0 && a.Work < TooShort && runs[0].Workload != AttachWorkload
	a.Migrations, a.HaveMigrations = chart.Middle(migrations), len(migrations) > 0
	a.Wait, a.HaveWait = chart.Middle(wait), len(wait) > 0
	return a
}

func newSample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// compare tests by ranks. It estimates on logarithms, since what a placement saves is a share
// of the time; figures of 0 or less have none, so where there are some it estimates the
// difference, as a share of the base's median if that is above 0.
func compare(metric workload.Metric, base, other Arm) Comparison {
	c := Comparison{Metric: metric, Base: base, Other: other, P: 1, PAdjusted: 1, Comparable: base.Runs > 0 && other.Runs > 0}
	if !c.Comparable {
		c.Unjudged, c.Verdict = nothingToCompare, nothingToCompare
		return c
	}
	c.P = min(1, benchmath.AssumeNothing.Compare(newSample(base.values), newSample(other.values)).P) // its sums can exceed 1
	c.more = stats.MostlyAbove(base.values, other.values)
	xs, ys, share := base.values, other.values, func(v float64) float64 { return v }
	switch {
	case slices.Min(xs) > 0 && slices.Min(ys) > 0:
		xs, ys, share = group.Each(xs, math.Log), group.Each(ys, math.Log), math.Expm1
	case base.Median > 0:
		least := math.Inf(-1)
		if slices.Min(ys) >= 0 {
			least = -1 // of a figure that is never below 0 no more than all is saved
		}
		share = func(v float64) float64 { return max(v/base.Median, least) }
	default:
		c.NoShare = true
	}
	estimate, low, high, have := stats.Shift(xs, ys, confidence)
	c.Delta = share(estimate)
	if have {
		c.HaveInterval = true
		c.Low, c.High = share(low), share(high)
		c.Visible = share(Visible(low, high))
	}
	return c
}

func (c Comparison) medians() float64 { return c.Other.Median/c.Base.Median - 1 }

// odd reports whether the medians, which are in the table, say something else than the effect:
// that is outside of its interval, or a difference to the other side.
func (c Comparison) odd() bool {
	m := c.medians()
	return c.Unjudged == "" && !c.NoShare && (m < c.Low || m > c.High || c.Different && m*c.Delta < 0)
}

// correct adjusts the p values for their number and words the verdicts.
//
// added is how often runs were added to the study after its verdicts had been seen. Who adds
// some because there was no difference looks again, and each look may err: the first one does
// in 5 of 100 studies at most, the next in 1 of 200, and each later one in half of that before.
func correct(cs []Comparison, added int) {
	var ps []float64
	var compared []*Comparison
	for i := range cs {
		if c := &cs[i]; c.Comparable {
			ps, compared = append(ps, c.P), append(compared, c)
		}
	}
	for i, p := range stats.Holm(ps) {
		compared[i].PAdjusted = min(p*strictness(added), 1)
		compared[i].judge(len(ps))
	}
}

// judge decides whether there is a verdict, and which.
func (c *Comparison) judge(comparisons int) {
	few := stats.SmallestP(c.Base.Runs, c.Other.Runs) >= (1-confidence)/float64(comparisons)
	if few {
		c.Warnings = append(c.Warnings, fmt.Sprintf("too few runs (%d and %d) to show any difference; use %d each", c.Base.Runs, c.Other.Runs, needed(comparisons)))
	}
	switch {
	case c.Base.short || c.Other.short:
		c.Unjudged = tooShortToJudge
	case few || !c.HaveInterval:
		c.Unjudged = tooFewRuns
	}
	c.Different = c.Unjudged == "" && c.PAdjusted < 1-confidence
	c.Verdict = c.verdict()
}

// needed is how many runs each of so many comparisons needs to show any difference.
func needed(comparisons int) int {
	need := 2
	for stats.SmallestP(need, need) >= (1-confidence)/float64(comparisons) {
		need++
	}
	return need
}

// strictness is by how much the p values of a study count for more after runs were added.
func strictness(added int) float64 {
	if added == 0 {
		return 1
	}
	return math.Ldexp((1-confidence)/0.005, added-1)
}
