package cli

import (
	"os"
	"strings"
)

// attribute examines a feature that the kernel has or has not, whatever the rights.
func (d *doctor) attribute(id, title, source string) finding {
	f := finding{id: id, title: title, state: stateBest, source: source}
	if err := probe(id); err != nil {
		f.source = ""
		d.worse(&f, stateMissing, err)
	}
	return f
}

func (d *doctor) slices() finding {
	return d.attribute("slice", "slices of ordinary tasks", "EEVDF, by sched_setattr")
}

func (d *doctor) clamps() finding {
	return d.attribute("uclamp", "utilisation clamps", "sched_setattr")
}

func (d *doctor) cookies() finding {
	return d.attribute("core-sched", "core scheduling (piton cookie)", "PR_SCHED_CORE")
}

func (d *doctor) schedExt() finding {
	source := "no scheduler is loaded: runs as OTHER"
	if name, err := os.ReadFile("/sys/kernel/sched_ext/root/ops"); err == nil {
		source = "scheduler " + strings.TrimSpace(string(name))
	}
	return d.attribute("policy-ext", "policy EXT", source)
}

func (d *doctor) memory() finding {
	source := "migrate_pages, move_pages, set_mempolicy"
	if nodes, ok := memoryNodes(); ok && nodes.Len() == 1 {
		source = "one node: there is nowhere to move to"
	}
	return d.attribute("numa", "memory of NUMA nodes (--mem)", source)
}
