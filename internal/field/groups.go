package field

import (
	"piton/internal/model"
	"piton/internal/sample"
)

// groupColumns are about the control group that a process has its CPU time from.
func groupColumns() []TaskColumn {
	throttled := groupFigure(TaskColumn{ID: "throttled_percent", Title: "THR%", Width: 5, unit: percent,
		Help: "share of the periods in which a CPU limit of its control group, or of one above it, throttled it"}, whyLimit,
		func(g *model.CPUGroup) float32 { return g.ThrottledPercent })
	quota := now(groupFigure(TaskColumn{ID: "cpu_quota", Title: "QUOTA", Width: 6,
		Help: "CPU limit of its control group in CPUs: the least of its own and of those above it"}, whyLimit,
		func(g *model.CPUGroup) float32 { return g.QuotaCPUs }))
	pressure := groupFigure(TaskColumn{ID: "pressure_percent", Title: "PSI", Width: 6, unit: percent,
		Help: "share of the last interval in which some task of its control group waited for a CPU; t where throttling is in it"}, whyPressure,
		func(g *model.CPUGroup) float32 { return g.PressurePercent })
	figure := pressure.Append
	pressure.Append = func(dst []byte, r Row) []byte {
		dst = figure(dst, r)
		if g := r.M.CPUGroup(r.I); g != nil && model.Known(g.PressurePercent) && g.ThrottledPercent > 0 {
			dst = append(dst, 't')
		}
		return dst
	}
	return []TaskColumn{throttled, quota, pressure}
}

// groupFigure completes a column about a control group.
func groupFigure(c TaskColumn, why func(Row, *model.CPUGroup) string, get func(*model.CPUGroup) float32) TaskColumn {
	c.Needs = func(n *sample.Needs) { n.CPUGroups = true }
	c.all = func(n *sample.Needs) { n.CPUGroups, n.Identity = true, true }
	c = rate(c, func(r Row) float32 {
		if g := r.M.CPUGroup(r.I); g != nil {
			return get(g)
		}
		return model.Unknown
	})
	c.Missing = func(r Row) string {
		g := r.M.CPUGroup(r.I)
		switch {
		case g == nil && r.M.Sample.WhyNot("groups") != "":
			return r.M.Sample.WhyNot("groups")
		case g == nil:
			return "its control group was not read, or is not visible from here"
		}
		if reason := why(r, g); reason != "" {
			return reason
		}
		return "it takes two readings of its control group"
	}
	return c
}

func whyLimit(_ Row, g *model.CPUGroup) string {
	switch g.Limits {
	case model.Unlimited:
		return "neither its control group nor one above it has a CPU limit"
	case model.LimitsUnknown:
		return "the CPU limit of its control group, or of one above it, could not be read"
	}
	return ""
}

func whyPressure(r Row, _ *model.CPUGroup) string {
	if r.M.Elapsed <= 0 {
		return whyRate(r)
	}
	return "its control group has no cpu.pressure: the kernel does not count pressure (psi=0), or groups are of version 1"
}
