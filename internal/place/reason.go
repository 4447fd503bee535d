package place

import (
	"fmt"
	"math"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

// guessWords go before the reason of a guess.
const guessWords = "a guess, every CPU is heavily loaded: "

// Load that is heavy and much the same everywhere is moved about by the
// scheduler, so that no measurement predicts where it will be; unless hardly any
// of it can be moved.
const (
	heavy    = 0.7
	muchSame = 0.35 // of the most loaded CPU
	movable  = 0.2  // of a CPU
	felt     = 0.25 // the slowdown from which on it matters
)

// floats reports whether the load of the slots is such.
func (b *board) floats(slots []int) bool {
	least, most, floating, loose := math.Inf(1), 0.0, 0.0, 0.0
	used, demand := math.Inf(1), 0.0 // least and most of what was measured
	for _, i := range slots {
		s := &b.slots[i]
		floating = max(floating, s.load.Busy-s.load.Fixed)
		loose += max(0, s.load.Busy-s.load.Fixed)
		least, most = min(least, s.slowdown()), max(most, s.slowdown())
		used, demand = min(used, s.demand), max(demand, s.demand)
	}
	return len(slots) > 1 && used >= heavy && least >= felt && floating >= movable && most-least <= muchSame*most &&
		demand-used <= 2*loose // else all of it could come from there to here, and here were still better
}

// reason says in words why a slot was chosen.
func (b *board) reason(t *Target, best, next int) string {
	s := &b.slots[best]
	text := oneCPU(cpuset.Of(s.cpu.ID), s.share, s.busy, b.siblingWords(s), b.extraWords(s), b.distanceWords(t, s.cpu))
	switch n := next; {
	case n < 0:
	case b.crowding(n) == b.crowding(best) && b.alike(n, t, b.cost(best, t), 2):
		text += fmt.Sprintf("; cpu %d gives as much (%d %%)", b.slots[n].cpu.ID, percent(b.slots[n].share))
	default:
		text += fmt.Sprintf("; next cpu %d (%d %%)", b.slots[n].cpu.ID, percent(b.slots[n].share))
	}
	return text
}

// Short is the first part of the reason of a choice of one CPU.
func (c Choice) Short() string {
	guess := ""
	if c.Guess {
		guess = "a guess"
	}
	return oneCPU(c.CPUs, c.Share, c.Busy, c.Near, guess)
}

// oneCPU says what can be expected of a CPU: "cpu 0: 74 % of a CPU expected (others use 26 %)".
func oneCPU(cpu cpuset.Set, share, busy float64, more ...string) string {
	return fmt.Sprintf("cpu %s: %s (%s)", cpu, expected(share), joinWith(", ", append([]string{othersUse(busy)}, more...)...))
}

func othersUse(busy float64) string { return fmt.Sprintf("others use %d %%", percent(busy)) }

func expected(share float64) string { return fmt.Sprintf("%d %% of a CPU expected", percent(share)) }

func (b *board) siblingWords(s *slot) string {
	if len(s.siblings) == 0 {
		return ""
	}
	var ids cpuset.Builder
	load := 0.0
	for _, o := range s.siblings {
		ids.Add(b.slots[o].cpu.ID)
		load = max(load, b.slots[o].busy)
	}
	is, upTo := "sibling", ""
	if len(s.siblings) > 1 {
		is, upTo = "siblings", "up to "
	}
	if load < idleBelow {
		return fmt.Sprintf("%s %s idle", is, ids.Set())
	}
	return fmt.Sprintf("%s %s %s%d %% busy", is, ids.Set(), upTo, percent(load))
}

// extraWords are the facts that only some CPUs have.
func (b *board) extraWords(s *slot) string {
	var out []string
	if k := s.cpu.Kind; k != topology.KindUniform {
		out = append(out, k.String()+" core")
	}
	switch s.load.Pinned {
	case 0:
	case 1:
		out = append(out, "1 task pinned there")
	default:
		out = append(out, fmt.Sprintf("%d tasks pinned there", s.load.Pinned))
	}
	if s.load.IRQ >= 0.02 {
		out = append(out, fmt.Sprintf("%d %% interrupts", percent(s.load.IRQ)))
	}
	if s.cpu.Isolated {
		out = append(out, "isolated")
	}
	return joinWith(", ", out...)
}

// distanceWords say what a target keeps of its cache and memory.
func (b *board) distanceWords(t *Target, c *topology.CPU) string {
	var out []string
	if _, known := b.topo.CPU(t.LastCPU); known {
		switch b.topo.Distance(t.LastCPU, c.ID) {
		case topology.SameCPU:
			out = append(out, "where it is now")
		case topology.SMTSibling:
			out = append(out, "same core as now")
		case topology.SameLLC:
			out = append(out, fmt.Sprintf("same L%d as now", b.llcLevel(c.ID)))
		case topology.SameNode:
			out = append(out, "same node as now")
		case topology.OtherNode:
			out = append(out, "other node than now")
		}
	}
	if t.HomeNode >= 0 && len(b.topo.Nodes) > 1 {
		where := fmt.Sprintf("memory on node %d", t.HomeNode)
		if c.Node == t.HomeNode {
			where = "next to its memory"
		}
		out = append(out, where)
	}
	return joinWith(", ", out...)
}

// llcLevel is the level of a CPU's outermost cache.
func (b *board) llcLevel(id cpuset.CPU) int {
	level := 0
	for _, c := range b.topo.Caches {
		if c.CPUs.Has(id) {
			level = max(level, c.Level)
		}
	}
	return level
}

// regionReason says why the first of the regions was chosen.
func (b *board) regionReason(t *Target, regions []region) string {
	r := regions[0]
	var cpus cpuset.Builder
	for _, i := range r.slots {
		cpus.Add(b.slots[i].cpu.ID)
	}
	near := b.slots[newNearness(b, t).nearest(r.slots)].cpu
	where := b.distanceWords(t, near)
	if near.ID == t.LastCPU {
		where = strings.Replace(where, "where it is now", "it runs there now", 1)
	}
	text := fmt.Sprintf("%s (cpus %s): %s", r.name, cpus.Set(), b.average(r.slots, where))
	if len(regions) > 1 {
		next := regions[1]
		text += fmt.Sprintf("; next %s (%d %%)", next.name, percent(b.mean(next.slots, shareOf)))
	}
	return text
}

// average says what a thread of a target can expect of some slots together.
func (b *board) average(slots []int, more string) string {
	return fmt.Sprintf("%s on average (%s)", expected(b.mean(slots, shareOf)), joinWith(", ", othersUse(b.mean(slots, busyOf)), more))
}

func shareOf(s *slot) float64 { return s.share }

func busyOf(s *slot) float64 { return s.busy }

func (b *board) mean(slots []int, figure func(*slot) float64) float64 {
	sum := 0.0
	for _, i := range slots {
		sum += figure(&b.slots[i])
	}
	return sum / float64(len(slots))
}

// joinWords joins the sentences that are not empty.
func joinWords(parts ...string) string { return joinWith("; ", parts...) }

func joinWith(sep string, parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, sep)
}
