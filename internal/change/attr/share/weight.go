// Package share is what a control group gets of the CPUs: its weight (weight.go) and its quota
// (quota.go), how they are written, and how the files of both versions of control groups hold
// them. It is pure: internal/change/attr reads and writes the files.
//
// Start at Weight and Quota.
package share

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Write is a text for one file of a group's directory.
type Write struct{ File, Text string }

// Weight is a group's weight among its siblings: 100 unless somebody sets it; or idle, which
// runs when no other wants to, and has none (Documentation/admin-guide/cgroup-v2.rst).
type Weight struct {
	Idle       bool
	Hundredths uint32 // of a weight: version 1 counts in shares, 1024 to a weight of 100
}

// The least and the most of cpu.shares (kernel/sched/sched.h), as weights, and the most of cpu.weight.
const (
	leastWeight = 20      // hundredths: 2 shares are 0.2
	mostWeight  = 2560000 // 262144 shares
	mostUnified = 10000
)

// Idle is the word for a weight of idle.
const Idle = "idle"

func (w Weight) String() string {
	if w.Idle {
		return Idle
	}
	return strconv.FormatFloat(float64(w.Hundredths)/100, 'f', -1, 64)
}

// ParseWeight reads "200", "0.2" or "idle".
func ParseWeight(text string) (Weight, error) {
	text = strings.TrimSpace(text)
	if text == Idle {
		return Weight{Idle: true}, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if f = math.Round(f * 100); err != nil || !(f >= leastWeight && f <= mostWeight) {
		return Weight{}, fmt.Errorf("weight %q is neither a number from 1 to 10000 (100 is usual) nor idle", text)
	}
	return Weight{Hundredths: uint32(f)}, nil
}

// idleFile makes a group idle, of both versions, since Linux 5.15.
const idleFile = "cpu.idle"

// WeightFiles are the files of a group that hold its weight. A group that can have one has the
// first; the last is not on every kernel.
func WeightFiles(unified bool) []string {
	if unified {
		return []string{"cpu.weight", idleFile}
	}
	return []string{"cpu.shares", idleFile}
}

// WeightOf reads the texts of WeightFiles; the last may be "".
func WeightOf(unified bool, texts []string) (Weight, error) {
	if strings.TrimSpace(texts[1]) == "1" {
		return Weight{Idle: true}, nil
	}
	n, err := strconv.ParseUint(strings.TrimSpace(texts[0]), 10, 32)
	if unified {
		return Weight{Hundredths: uint32(n) * 100}, err
	}
	return ofShares(n), err
}

func ofShares(n uint64) Weight {
	return Weight{Hundredths: uint32(math.Round(float64(n) * 10000 / 1024))}
}

// shares are what cpu.shares has for the weight.
func (w Weight) shares() uint64 { return uint64(math.Round(float64(w.Hundredths) * 1024 / 10000)) }

// On is the weight as the version has it.
func (w Weight) On(unified bool, _ Weight) (Weight, error) {
	switch {
	case w.Idle:
	case !unified:
		return ofShares(w.shares()), nil
	case w.Hundredths%100 != 0 || w.Hundredths < 100 || w.Hundredths > mostUnified*100:
		return w, fmt.Errorf("cpu.weight takes whole numbers from 1 to %d, not %s", mostUnified, w)
	}
	return w, nil
}

// Late reports whether the value takes the last of WeightFiles.
func (w Weight) Late() bool { return w.Idle }

// Writes brings a group from a weight to w. An idle group takes no weight, and one that is no
// longer idle has a weight of 100, whatever it had before (sched_group_set_idle of kernel/sched/fair.c).
func (w Weight) Writes(unified bool, from Weight) (out []Write) {
	switch {
	case w == from:
		return nil
	case w.Idle:
		return []Write{{idleFile, "1"}}
	case from.Idle:
		out = []Write{{idleFile, "0"}}
	}
	n := uint64(w.Hundredths) / 100
	if !unified {
		n = w.shares()
	}
	return append(out, Write{WeightFiles(unified)[0], strconv.FormatUint(n, 10)})
}

// Halfway reports whether now is what a change of the weight that was cut off may have left.
func (w Weight) Halfway(to, now Weight) bool {
	return w.Idle != to.Idle && now == Weight{Hundredths: 10000}
}
