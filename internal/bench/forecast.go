package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"piton/internal/chart"
	"piton/workloads"
	"piton/workloads/workload"
)

// Forecast estimates how long a study will take.
type Forecast struct {
	Runs   int           // warm-up included
	Each   time.Duration // a run, with starting and placing it
	Work   float64       // seconds of the work in a run, 0 = not known
	Budget time.Duration // no longer than so; 0 = no limit
	Until  bool          // at least so long: until the intervals are narrow
}

// Total is the time of the whole study.
func (f Forecast) Total() time.Duration {
	return min(f.Each*time.Duration(f.Runs), cmp.Or(f.Budget, math.MaxInt64))
}

// Sentence says so in words: "about 0.9 s a run, 44 runs, 42 s".
func (f Forecast) Sentence() string {
	each, least := chart.Clock(f.Each), ""
	if f.Each < 100*time.Millisecond {
		each = chart.Quantity(f.Each.Seconds(), "s")
	}
	if f.Until {
		least = "at least "
	}
	return fmt.Sprintf("about %s a run, %s%s, %s", each, least, chart.Plural(f.Runs, "run"), chart.Clock(f.Total()))
}

// Forecast estimates the study's time from the last of the studies of the same work, else of
// the longest that differs in its length; ok is false when none of them tells.
func (s Study) Forecast(studies []Results) (f Forecast, ok bool) {
	if s.Workload == AttachWorkload { // its periods are given
		return s.Paced(s.Period, 0), true
	}
	s = s.Canonical()
	longest := leastScaled
	for _, r := range slices.Backward(studies) {
		factor, like := s.longer(r.Study)
		each, work, known := r.pace()
		switch {
		case !like || !known:
		case factor == 1:
			return s.Paced(each, work), true
		case work > longest:
			longest = work
			more := time.Duration(work * (factor - 1) * float64(time.Second))
			f, ok = s.Paced(each+more, work*factor), true
		}
	}
	return f, ok
}

// longer is how much more work a run of s is than one of o, which is the same work but for
// its length; ok is false for other work, or where that is not known.
func (s Study) longer(o Study) (factor float64, ok bool) {
	if s.SameWork(o) {
		return 1, true
	}
	w, is, err := s.settings()
	_, was, wrong := o.settings()
	if err != nil || wrong != nil || s.Workload != o.Workload || s.Noise != o.Noise {
		return 0, false
	}
	now, then := w.Work(is.Int(w.Length)), w.Work(was.Int(w.Length))
	was[w.Length] = is[w.Length]
	return now / then, now > 0 && then > 0 && maps.Equal(is, was)
}

// Length is the length of the study's work in words, "n 15"; "" where it has none.
func (s Study) Length() string {
	w, values, err := s.settings()
	if err != nil || values.Int(w.Length) == 0 {
		return ""
	}
	return w.Length + " " + values[w.Length]
}

func (s Study) settings() (workload.Workload, workload.Values, error) {
	w, err := workloads.Find(s.Workload)
	if err != nil {
		return w, nil, err
	}
	values, err := w.Parse(s.Args)
	return w, values, err
}

// Seconds of the work of a run. It should be enough to be judged, and no waste.
const (
	leastScaled = 0.001 // tells how long a longer one takes; of less, starting is a part that does not grow
	leastWork   = 0.3
	usualWork   = 0.6
	mostWork    = 1.0
)

// misfit is how far a time is from that, 0 when it is within, and a little more the further
// it is from the usual.
func misfit(work float64) float64 {
	return max(math.Log(leastWork/work), math.Log(work/mostWork), 0) + 1e-3*math.Abs(math.Log(work/usualWork))
}

// Fitted is the study with a length with which a run takes 0.3 to 1 s, by what studies of
// the same work took; ok is false where that is not known. A length that was used before
// stays, so that studies can be compared.
func (s Study) Fitted(studies []Results) (fitted Study, ok bool) {
	s = s.Canonical()
	w, values, err := s.settings()
	length := values.Int(w.Length)
	f, known := s.Forecast(studies)
	if err != nil || !known || f.Work <= 0 || w.Work(length) <= 0 {
		return s, false
	}
	with := func(n int) Study {
		values[w.Length] = strconv.Itoa(n)
		s.Args = w.Args(values)
		return s
	}
	for _, r := range slices.Backward(studies) {
		_, like := s.longer(r.Study)
		if _, work, ok := r.pace(); like && ok && work >= leastWork && work <= mostWork {
			s.Args = r.Study.Canonical().Args
			return s, true
		}
	}
	if f.Work >= leastWork && f.Work <= 1.5*mostWork {
		return s, true // its default
	}
	at := func(n int) float64 { return f.Work * w.Work(n) / w.Work(length) }
	param := w.Params[slices.IndexFunc(w.Params, func(p workload.Param) bool { return p.Name == w.Length })]
	n := param.Min + sort.Search(param.Max-param.Min, func(i int) bool { return at(param.Min+i+1) > usualWork })
	if round := int(roundDigits(float64(n))); round >= param.Min && misfit(at(round)) < 0.01 {
		return with(round), true
	}
	if n < param.Max && misfit(at(n+1)) < misfit(at(n)) {
		n++
	}
	return with(n), true
}

func roundDigits(v float64) float64 {
	power := math.Pow(10, max(math.Floor(math.Log10(max(v, 1)))-1, 0))
	return math.Round(v/power) * power
}

// Paced is the forecast where a run takes so long, and its work so many seconds.
func (s Study) Paced(each time.Duration, work float64) Forecast {
	return Forecast{Runs: s.Total(), Each: each, Work: work, Budget: s.Budget, Until: s.Until > 0}
}

// pace is the median time from the start of one run to that of the next, and the
// median seconds of the work.
func (r Results) pace() (each time.Duration, work float64, ok bool) {
	var steps, works []float64
	for i, run := range r.Runs {
		if run.Err == "" {
			works = append(works, run.Seconds)
		}
		if i > 0 {
			steps = append(steps, run.Started.Sub(r.Runs[i-1].Started).Seconds())
		}
	}
	work = chart.Middle(works)
	step := max(chart.Middle(steps), work) // of one run, or when the clock was set back
	return time.Duration(step * float64(time.Second)), work, len(works) > 0
}
