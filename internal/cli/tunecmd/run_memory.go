package tunecmd

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/pflag"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
)

// memoryOptions are the flags that say where a command's memory comes from
// (set_mempolicy(2), numactl(8)).
type memoryOptions struct {
	bind, preferred, interleave string

	flag  string // the one that was given, "" for none
	mode  kernel.MemPolicy
	nodes cpuset.Set
}

func (o *memoryOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.bind, "membind", "", "memory from these NUMA `NODES` only: 0, 0-1")
	fs.StringVar(&o.preferred, "preferred", "", "memory from this `NODE` as long as it has some")
	fs.StringVar(&o.interleave, "interleave", "", "memory from these `NODES` in turn, page by page")
}

// parse reads the flags, of which one may be given.
func (o *memoryOptions) parse() error {
	for _, f := range []struct {
		name, value string
		mode        kernel.MemPolicy
	}{
		{"--membind", o.bind, kernel.MemBind}, {"--preferred", o.preferred, kernel.MemPreferred}, {"--interleave", o.interleave, kernel.MemInterleave},
	} {
		if f.value == "" {
			continue
		}
		if o.flag != "" {
			return exit.Usagef("%s and %s exclude each other", o.flag, f.name)
		}
		nodes, err := cpuset.Parse(f.value)
		if err != nil || nodes.Empty() {
			return exit.Usagef("%s %q: give numbers of NUMA nodes, such as 0 or 0-1", f.name, f.value)
		}
		o.flag, o.mode, o.nodes = f.name, f.mode, nodes
	}
	if o.mode == kernel.MemPreferred && o.nodes.Len() > 1 {
		return exit.Usagef("--preferred takes one node")
	}
	return nil
}

// set sets the calling thread's policy, which the command inherits.
func (o *memoryOptions) set() error {
	if o.flag == "" {
		return nil
	}
	there, known := app.MemoryNodes()
	if known && !o.nodes.SubsetOf(there) {
		return fmt.Errorf("%s %s: there is no memory on node %s here (nodes with memory: %s)", o.flag, o.nodes, o.nodes.AndNot(there), there)
	}
	err := kernel.SetMemPolicy(o.mode, o.nodes)
	switch {
	case errors.Is(err, syscall.ENOSYS):
		return exit.With(exit.NotPermitted, fmt.Errorf("%s: %w: this kernel is built without NUMA (CONFIG_NUMA)", o.flag, feature.ErrNotSupported))
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("%s %s: the cpuset of this process allows no memory there", o.flag, o.nodes)
	}
	return err
}
