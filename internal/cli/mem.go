package cli

import (
	"piton/internal/change"
	"piton/internal/change/attr"
)

// writePages prints the pages of a process that has moved, one
// {"type":"memory"} line a node.
func (a *app) writePages(c change.Change) {
	was, _ := c.Before.(attr.MemoryValue)
	is, _ := c.After.(attr.MemoryValue)
	before, after, known := was.Pages, is.Pages, is.Pages != nil
	nodes := before.Nodes()
	if known {
		nodes = nodes.Or(after.Nodes())
	}
	var l line
	for node := range nodes.All() {
		l.start("memory").add("pid", int(c.PID)).add("node", int(node)).add("pages_before", before[int(node)]).
			add("pages_after", orNull(after[int(node)], known)).write(a) // a dry run knows the nodes only
	}
}
