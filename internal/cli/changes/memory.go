package changes

import (
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/output"
)

// writePages prints the pages of a process that has moved, one
// {"type":"memory"} line a node.
func writePages(a *app.App, c change.Change) {
	was, _ := c.Before.(attr.MemoryValue)
	is, _ := c.After.(attr.MemoryValue)
	before, after, known := was.Pages, is.Pages, is.Pages != nil
	nodes := before.Nodes()
	if known {
		nodes = nodes.Or(after.Nodes())
	}
	var l output.Line
	for node := range nodes.All() {
		l.Start("memory").Add("pid", int(c.PID)).Add("node", int(node)).Add("pages_before", before[int(node)]).
			Add("pages_after", output.OrNull(after[int(node)], known)).Write(a) // a dry run knows the nodes only
	}
}
