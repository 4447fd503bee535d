package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"piton/internal/chart"
)

// Condition is one of the Conditions in words.
type Condition struct {
	Name, Value string // Value is "" when not known
}

// List is the conditions in words, in the order in which they matter.
func (c Conditions) List() []Condition {
	steal := ""
	if c.Steal > 0 {
		steal = chart.Percent(c.Steal) + " since boot"
	}
	return []Condition{
		{"host", c.Host}, {"CPU", c.CPUModel}, {"CPUs online", c.Online}, {"SMT", c.SMT}, {"isolated CPUs", c.Isolated},
		{"governor", c.Governor}, {"kernel", c.Kernel}, {"kernel command line", c.Cmdline}, {"piton", c.Version}, {"Go", c.Go},
		{"load", fmt.Sprintf("%.2f", c.Load1)}, {"steal", steal},
	}
}

// Levels from which a load and a steal count as different: half a busy task for
// each CPU of a small machine, and as much as effects are looked for.
const (
	differentLoad  = 1.0
	differentSteal = noticeableSteal
)

// Differences says in words in what a study's conditions differ from earlier
// ones. What is not known of either is no difference.
func (c Conditions) Differences(earlier Conditions) (out []string) {
	now, then := c.List(), earlier.List()
	for i, f := range now {
		if f.Name != "load" && f.Name != "steal" && f.Value != "" && then[i].Value != "" && f.Value != then[i].Value {
			out = append(out, fmt.Sprintf("%s %s, then %s", f.Name, f.Value, then[i].Value))
		}
	}
	if math.Abs(c.Load1-earlier.Load1) >= differentLoad {
		out = append(out, fmt.Sprintf("load %.1f, then %.1f", c.Load1, earlier.Load1))
	}
	if math.Abs(c.Steal-earlier.Steal) >= differentSteal {
		out = append(out, fmt.Sprintf("steal %s, then %s", chart.Percent(c.Steal), chart.Percent(earlier.Steal)))
	}
	return out
}

// Earlier is a study compared with one of the same work before it.
type Earlier struct {
	Then       Results
	Comparison Comparison // of the base placement now with the same then
	// Differences are the conditions that were others then; where there are some,
	// what changed may be due to them.
	Differences []string
}

// Against compares a study with an earlier one; ok is false when they are not of
// the same work or have no base placement in common.
func Against(now, then Results) (e Earlier, ok bool) {
	now.Study.Placements = now.Study.Placements[:min(len(now.Study.Placements), 1)]
	cs, ok := Between(now, then)
	if !ok || !cs[0].Comparable {
		return Earlier{}, false
	}
	return Earlier{Then: then, Comparison: cs[0], Differences: now.Conditions.Differences(then.Conditions)}, true
}

// Between compares each placement that two studies have in common, now with then; ok is
// false when they are not of the same work.
func Between(now, then Results) (cs []Comparison, ok bool) {
	if !now.Study.SameWork(then.Study) {
		return nil, false
	}
	for _, p := range now.Study.Placements {
		if slices.Contains(then.Study.Placements, p) {
			cs = append(cs, compare(now.Study.Metric(), newArm(p, then.Of(p)), newArm(p, now.Of(p))))
		}
	}
	correct(cs, 0)
	return cs, len(cs) > 0
}

// Sentence is the comparison in words, and what it may be due to.
func (e Earlier) Sentence() string {
	text := fmt.Sprintf("%s, compared with %s: %s", e.Comparison.Other.Placement, e.Then.Started.Local().Format("2006-01-02 15:04"), e.Comparison.Verdict)
	if len(e.Differences) > 0 {
		text += "; but conditions differ: " + strings.Join(e.Differences, "; ")
	}
	return text
}

// CompareAll compares the base placements of pairs of studies, which may differ
// in their work, and corrects for the number of pairs.
func CompareAll(pairs [][2]Results) []Comparison {
	out := make([]Comparison, len(pairs))
	for i, p := range pairs {
		base, other := p[0].Study.base(), p[1].Study.base()
		out[i] = compare(p[1].Study.Metric(), newArm(base, p[0].Of(base)), newArm(other, p[1].Of(other)))
	}
	correct(out, 0)
	return out
}
