package model_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/place"
	"piton/internal/topology"
)

// Try is what one window showed of a world, and what came of it.
type Try struct {
	World   string
	Source  string     // of the window: ebpf or proc
	State   string     // what the target did in the window: busy, half, asleep
	On      cpuset.CPU // where it did
	Stay    bool       // the CPUs are alike, it is to stay
	Loads   []place.Load
	Target  place.Target
	Ignored []place.Target
	Groups  place.GroupMode
	Got     []float64 // by CPU: the share that a probe got that always wanted to run
}

// readTries reads recorded tries, a line of JSON each.
func readTries(path string) (tries []Try, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var y Try
		if err := json.Unmarshal(lines.Bytes(), &y); err != nil {
			return nil, err
		}
		y.joinGroups()
		tries = append(tries, y)
	}
	return tries, lines.Err()
}

// Line is the try as readTries takes it, rounded, and without tasks that hardly did anything.
func (y Try) Line() (string, error) {
	round := func(x *float64) { *x = math.Round(*x*1e3) / 1e3 }
	y.Loads, y.Got = slices.Clone(y.Loads), slices.Clone(y.Got)
	for i := range y.Loads {
		l := &y.Loads[i]
		for _, x := range []*float64{&l.Busy, &l.IRQ, &l.Steal, &l.Rest, &l.RestNiced, &l.Fixed, &y.Got[i]} {
			round(x)
		}
		var rivals []place.Rival
		for _, r := range l.Rivals {
			if r.Used >= 0.01 || r.Queued >= 0.05 {
				round(&r.Used)
				round(&r.Queued)
				rivals = append(rivals, r)
			}
		}
		l.Rivals = rivals
	}
	b, err := json.Marshal(y)
	if err != nil {
		return "", err
	}
	var all any
	if err := json.Unmarshal(b, &all); err != nil {
		return "", err
	}
	b, err = json.Marshal(withoutZeros(all))
	return string(b), err
}

// withoutZeros leaves out what readTries sets without it, of objects.
func withoutZeros(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, is := range v {
			switch is {
			case nil, 0.0, false, "":
				delete(v, key)
			default:
				v[key] = withoutZeros(is)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutZeros(v[i])
		}
	}
	return v
}

// joinGroups makes the same group the same pointer again: those of a world differ in weight.
func (y *Try) joinGroups() {
	known := map[place.Group]*place.Group{}
	var join func(g *place.Group) *place.Group
	join = func(g *place.Group) *place.Group {
		if g == nil {
			return nil
		}
		is := place.Group{Parent: join(g.Parent), Weight: g.Weight}
		if known[is] == nil {
			known[is] = &is
		}
		return known[is]
	}
	y.Target.Group = join(y.Target.Group)
	for i := range y.Loads {
		for k := range y.Loads[i].Rivals {
			r := &y.Loads[i].Rivals[k]
			r.Group = join(r.Group)
		}
	}
}

var expected = regexp.MustCompile(`([0-9]+) % of a CPU expected`)

// Answer is what place says of a try.
type Answer struct {
	Expected []float64 // by CPU
	Chosen   cpuset.CPU
	Guess    bool
}

// Ask asks place for the least loaded CPU, and what it expects of each.
func (y *Try) Ask(t *topology.Topology) (a Answer, err error) {
	ask := func(allowed cpuset.Set) (place.Choice, error) {
		to := y.Target
		to.Allowed = allowed
		choices, err := place.Place(place.Request{Topology: t, Loads: y.Loads, Groups: y.Groups, Targets: []place.Target{to}, Ignored: y.Ignored, Strategy: place.LeastLoaded})
		if err != nil {
			return place.Choice{}, err
		}
		return choices[0], nil
	}
	for cpu := range t.Online.All() {
		c, err := ask(cpuset.Of(cpu))
		if err != nil {
			return a, err
		}
		percent, err := strconv.Atoi(expected.FindStringSubmatch(c.Reason)[1])
		if err != nil {
			return a, err
		}
		a.Expected = append(a.Expected, float64(percent)/100)
	}
	c, err := ask(t.Online)
	a.Chosen, a.Guess = c.CPUs.First(), c.Guess
	return a, err
}

// It does not matter which CPU was chosen when probes got the same to within alike, a share
// of the better one, or within resolution, of a CPU.
const (
	alike      = 0.1
	resolution = 0.02
)

// asGood reports whether a CPU is as good as any.
func asGood(got []float64, chosen cpuset.CPU) bool {
	best := slices.Max(got)
	return best-got[chosen] < max(resolution, alike*best)
}

// Score adds up answers.
type Score struct {
	Tries, Right  int
	Guesses       int // called so, and left out of the others
	Alike, Stayed int // tries in which it is to stay
	Off           []float64
}

// Add judges an answer and returns a line of the table.
func (s *Score) Add(y *Try, a Answer) string {
	line := fmt.Sprintf("%-4s %-6s on %d:", y.Source, y.State, y.On)
	for i, got := range y.Got {
		off := a.Expected[i] - got
		s.Off = append(s.Off, math.Abs(off))
		line += fmt.Sprintf("  %3.0f of %3.0f (%+3.0f)", 100*a.Expected[i], 100*got, 100*off)
	}
	line += fmt.Sprintf("  to %d", a.Chosen)
	right := asGood(y.Got, a.Chosen)
	switch {
	case a.Guess:
		s.Guesses++
		return line + ", a guess"
	case y.Stay:
		if s.Alike++; a.Chosen == y.On {
			s.Stayed++
			return line
		}
		return line + ", MOVED"
	}
	if s.Tries++; right {
		s.Right++
		return line
	}
	return line + ", WRONG"
}

// Median is how far estimates are off in the median, of a CPU.
func (s *Score) Median() float64 {
	sorted := slices.Sorted(slices.Values(s.Off))
	return sorted[len(sorted)/2]
}

// Most is how far the worst is.
func (s *Score) Most() float64 { return slices.Max(s.Off) }

// Within is the share of estimates that are off by no more.
func (s *Score) Within(off float64) float64 {
	n := 0
	for _, o := range s.Off {
		if o <= off {
			n++
		}
	}
	return float64(n) / float64(len(s.Off))
}

func (s *Score) String() string {
	return strings.Join([]string{
		fmt.Sprintf("right in %d of %d", s.Right, s.Tries),
		fmt.Sprintf("stayed in %d of %d", s.Stayed, s.Alike),
		fmt.Sprintf("%d guesses", s.Guesses),
		fmt.Sprintf("off by %.0f points in the median, %.0f at most, %.0f %% of %d by 12 or less", 100*s.Median(), 100*s.Most(), 100*s.Within(0.12), len(s.Off)),
	}, ", ")
}
