package tui

import (
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/topology"
)

// countMoves counts the moves that can be seen in a task's last ticks, and how
// many of them left the last-level cache. It is less than what really moved: a
// task can be elsewhere between two looks.
func countMoves(row field.Row) (moves, far int) {
	last := int16(-1)
	for _, cpu := range row.Rates().Bounce {
		if cpu < 0 {
			continue
		}
		if last >= 0 && cpu != last {
			moves++
			if d := row.M.Topology.Distance(cpuset.CPU(last), cpuset.CPU(cpu)); d > topology.SameLLC {
				far++
			}
		}
		last = cpu
	}
	return moves, far
}
