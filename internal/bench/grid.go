package bench

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Grid is a table of studies that are interleaved, a round of each, repeatedly: cells
// that are compared are measured close in time, and as often when time runs out.
type Grid struct {
	ID      string
	Started time.Time
	Papers  []string // the published studies whose tables it fills
	Budget  time.Duration
	Ended   time.Time // zero while it is unfinished
}

// NewGrid names one. Its cells are studies that carry its ID.
func NewGrid(papers []string, budget time.Duration) Grid {
	return Grid{ID: NewID(time.Now()), Started: time.Now(), Papers: papers, Budget: budget}
}

// Rounds is how many whole rounds there are.
func (r Results) Rounds() int {
	least := len(r.Runs)
	for _, p := range r.Study.Placements {
		least = min(least, len(r.Of(p)))
	}
	return least
}

// CompareAll compares the base placements of pairs of studies, which may differ
// in their work, and corrects for the number of pairs.
func CompareAll(pairs [][2]Results) []Comparison {
	out := make([]Comparison, len(pairs))
	for i, p := range pairs {
		out[i] = compare(p[1].Study.Metric(), baseArm(p[0]), baseArm(p[1]))
	}
	correct(out, 0)
	return out
}

func baseArm(r Results) Arm {
	if len(r.Study.Placements) == 0 {
		return Arm{}
	}
	return newArm(r.Study.Placements[0], r.Of(r.Study.Placements[0]))
}

// NewID names one run of a study: the time, so that names sort, and four random
// bytes against two studies in the same second.
func NewID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}
