package cli

import (
	"piton/internal/tune"
)

// writePages prints the pages of a process that has moved, one
// {"type":"memory"} line a node.
func (a *app) writePages(c tune.Change) error {
	before, _ := tune.ParsePages(c.Before)
	after, known := tune.ParsePages(c.After)
	nodes := before.Nodes()
	if known {
		nodes = nodes.Or(after.Nodes())
	}
	var l line
	for node := range nodes.All() {
		l.start("memory").add("pid", int(c.PID)).add("node", int(node)).add("pages_before", before[int(node)])
		if known {
			l.add("pages_after", after[int(node)])
		} else { // a dry run knows the nodes only
			l.add("pages_after", nil)
		}
		if err := l.write(a.Out); err != nil {
			return err
		}
	}
	return nil
}
