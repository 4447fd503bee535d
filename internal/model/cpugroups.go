package model

import (
	"path"

	"piton/internal/procfs"
	"piton/internal/sample"
)

// CPUGroup is what the limits of a control group and of those above it came to in the interval.
type CPUGroup struct {
	QuotaCPUs        float32 // the least of the limits
	ThrottledPercent float32 // share of the periods, of the limit that throttled in most of them
	PressurePercent  float32 // share of the interval in which some task of the group itself waited for a CPU
	Limits           Limits
}

// Limits says which limits there are.
type Limits uint8

// What there can be.
const (
	LimitsUnknown Limits = iota // one cannot be read
	Unlimited
	Limited
)

// CPUGroup is that of row i, nil if it was not read.
func (m *Model) CPUGroup(i int) *CPUGroup {
	if id := m.Sample.Tasks[i].ID; id != nil {
		return m.groups[id.CPUGroup]
	}
	return nil
}

func (m *Model) nextGroups(prev *Model) {
	if len(m.Sample.CPUGroups) == 0 {
		return
	}
	var before map[string]sample.CPUGroup
	if prev != nil {
		before = prev.Sample.CPUGroups
	}
	m.groups = make(map[string]*CPUGroup, len(m.Sample.CPUGroups))
	for at, now := range m.Sample.CPUGroups {
		g := &CPUGroup{QuotaCPUs: Unknown, ThrottledPercent: Unknown, PressurePercent: Unknown, Limits: Unlimited}
		if was, known := before[at]; known && was.HaveStalled && now.HaveStalled {
			g.PressurePercent = m.delay(uint64(was.Stalled), uint64(now.Stalled))
		}
		m.limits(g, at, before)
		m.groups[at] = g
	}
}

// limits goes up from a group as far as there are groups.
func (m *Model) limits(g *CPUGroup, at string, before map[string]sample.CPUGroup) {
	for {
		now, known := m.Sample.CPUGroups[at]
		switch {
		case !known:
			return
		case !now.HaveLimit:
			g.QuotaCPUs, g.ThrottledPercent, g.Limits = Unknown, Unknown, LimitsUnknown
			return
		}
		if cpus := float32(now.Limit.CPUs()); cpus > 0 {
			g.Limits = Limited
			if !(g.QuotaCPUs <= cpus) {
				g.QuotaCPUs = cpus
			}
			if was, known := before[at]; known && was.HaveLimit && was.Limit.CPUs() > 0 {
				if share := throttled(was.Stat, now.Stat); !(g.ThrottledPercent >= share) {
					g.ThrottledPercent = share
				}
			}
		}
		if at == "/" {
			return
		}
		at = path.Dir(at)
	}
}

// throttled is the share of periods; a group that had nothing to run has no periods.
func throttled(before, now procfs.CPUStat) float32 {
	if now.Periods < before.Periods || now.Throttled < before.Throttled {
		return Unknown
	}
	return clamp(100*float32(now.Throttled-before.Throttled)/float32(max(1, now.Periods-before.Periods)), 100)
}
