package widget

import (
	"piton/internal/topology"
	"piton/internal/tui/theme"
)

// DistanceLetter is the sign of a class of moves, one cell wide; the dear ones are heavier. It is
// blank for the same CPU.
func DistanceLetter(d topology.Distance) string {
	return [...]string{topology.SameCPU: " ", topology.SMTSibling: "s", topology.SameLLC: "l", topology.SameNode: "n", topology.OtherNode: "X"}[d]
}

// DistanceStyle is the weight of a class of moves, which grows with their cost.
func DistanceStyle(th *theme.Theme, d topology.Distance) theme.Style {
	return [...]theme.Style{topology.SameCPU: th.Text, topology.SMTSibling: th.Dim, topology.SameLLC: th.Text,
		topology.SameNode: th.Strong, topology.OtherNode: th.Title}[d]
}
