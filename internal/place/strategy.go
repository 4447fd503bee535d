package place

import (
	"fmt"
	"strings"
)

// Strategy is how targets are laid out over the machine.
type Strategy string

// The strategies of --place.
const (
	LeastLoaded Strategy = "least-loaded" // one core each, the least loaded first
	Pack        Strategy = "pack"         // a CPU for each busy thread, all close together: same core, then same LLC
	Spread      Strategy = "spread"       // a CPU for each busy thread, as far apart as can be
	LLC         Strategy = "llc"          // the least loaded last-level cache's CPUs
	NodeWide    Strategy = "node"         // the least loaded node's CPUs
	SiblingFree Strategy = "sibling-free" // a core each with every SMT sibling idle
)

// Strategies lists the strategies in the order of the help.
func Strategies() []Strategy {
	return []Strategy{LeastLoaded, Pack, Spread, LLC, NodeWide, SiblingFree}
}

// layouts places one target on one or more of the slots that it may use.
var layouts = map[Strategy]func(*board, *Target, []int) (Choice, error){
	LeastLoaded: (*board).leastLoaded,
	SiblingFree: (*board).siblingFree,
	Pack:        (*board).pack,
	Spread:      (*board).spread,
	LLC:         (*board).wholeLLC,
	NodeWide:    (*board).wholeNode,
}

// ParseStrategy reads the argument of --place and --pin.
func ParseStrategy(name string) (Strategy, error) {
	names := make([]string, 0, len(layouts))
	for _, s := range Strategies() {
		if string(s) == name {
			return s, nil
		}
		names = append(names, string(s))
	}
	return "", fmt.Errorf("%q is no placement: use %s", name, strings.Join(names, ", "))
}
