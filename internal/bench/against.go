package bench

import (
	"fmt"
	"slices"
	"strings"
)

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
