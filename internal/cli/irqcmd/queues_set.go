package irqcmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cpuset"
	"piton/internal/irq"
)

// queueOptions are the flags of piton irq queues: without one that sets
// something, it lists.
type queueOptions struct {
	apply    changes.Options
	rps, xps string
	queue    string
	flows    optionalCount
	entries  optionalCount
}

func (o *queueOptions) addFlags(cmd *cobra.Command) {
	o.flows, o.entries = optionalCount{Count: flags.Count{Max: 1 << 29}}, optionalCount{Count: flags.Count{Max: 1 << 29}}
	cmd.Flags().StringVar(&o.rps, "rps", "", "`CPUS` that process what comes in, or off")
	cmd.Flags().StringVar(&o.xps, "xps", "", "`CPUS` that send through the queues, or off")
	cmd.Flags().Var(&o.flows, "rps-flows", "flows that RFS steers, of each receive queue; 0 is off")
	cmd.Flags().Var(&o.entries, "rfs-entries", "entries of RFS's table, for all interfaces together; 0 is off")
	cmd.Flags().StringVar(&o.queue, "queue", "", "set only the queues with these `NUMBERS` (0, 0-3)")
	o.apply.AddFlags(cmd.Flags())
}

// optionalCount is a count that may be 0; given is whether there was one.
type optionalCount struct {
	flags.Count
	given bool
}

// String is the default in the help: none.
func (c *optionalCount) String() string { return "" }

// Set is part of pflag.Value.
func (c *optionalCount) Set(text string) error {
	c.given = true
	return c.Count.Set(text)
}

func (o *queueOptions) sets() bool {
	return o.rps != "" || o.xps != "" || o.queue != "" || o.flows.given || o.entries.given || o.apply.DryRun || o.apply.Yes
}

// request reads the flags.
func (o *queueOptions) request(a *app.App) (q action.QueueSettings, err error) {
	if o.rps == "" && o.xps == "" && !o.flows.given && !o.entries.given {
		return q, exit.Usagef("nothing to set: use --rps, --xps, --rps-flows or --rfs-entries")
	}
	if q.RPS, err = cpusOrOff(a, "--rps", o.rps); err != nil {
		return q, err
	}
	if q.XPS, err = cpusOrOff(a, "--xps", o.xps); err != nil {
		return q, err
	}
	if o.flows.given {
		q.Flows = &o.flows.N
	}
	if o.entries.given {
		q.Entries = &o.entries.N
	}
	if o.queue != "" {
		if q.Only, err = cpuset.Parse(o.queue); err != nil || q.Only.Empty() {
			return q, exit.Usagef("--queue %s is no list of numbers", o.queue)
		}
	}
	return q, nil
}

// cpusOrOff reads CPUS, or off for none; nil when nothing was given.
func cpusOrOff(a *app.App, flag, expr string) (*cpuset.Set, error) {
	switch strings.ToLower(expr) {
	case "":
		return nil, nil
	case "off", "none":
		return &cpuset.Set{}, nil
	}
	cpus, err := a.FlagCPUs(flag, expr)
	return &cpus, err
}

func setQueues(a *app.App, cmd *cobra.Command, names []string, o queueOptions) error {
	if !a.Live() {
		return change.ErrNotLive
	}
	q, err := o.request(a)
	if err != nil {
		return err
	}
	var nics []irq.NIC
	if q.RPS != nil || q.XPS != nil || q.Flows != nil {
		if len(names) == 0 {
			return exit.Usagef("missing interface: name it (see piton irq queues)")
		}
	} else if len(names) > 0 || o.queue != "" {
		return exit.Usagef("--rfs-entries takes no interface or queue: all share it")
	}
	fs := irq.New(a.HostRoot)
	if len(names) > 0 {
		if nics, err = nicsNamed(fs.NICs(), names); err != nil {
			return err
		}
	}
	if missing := q.Only.AndNot(queuesOf(nics)); !missing.Empty() {
		return fmt.Errorf("%s has no queue %s", strings.Join(names, ", "), missing)
	}
	if q.Flows != nil && *q.Flows > 0 && q.Entries == nil && fs.FlowEntries() == 0 {
		a.Warn("RFS stays off until its table has entries: add --rfs-entries, such as %d", 1<<15)
	}
	requests := action.SetQueues(nics, q)
	if len(requests) == 0 {
		return fmt.Errorf("%s has no such queue", strings.Join(names, ", "))
	}
	return tuneFiles(a, cmd, requests, o.apply)
}

// queuesOf are the numbers of the interfaces' queues.
func queuesOf(nics []irq.NIC) cpuset.Set {
	var b cpuset.Builder
	for _, nic := range nics {
		for _, q := range nic.Rx {
			b.Add(cpuset.CPU(q.Index))
		}
		for _, q := range nic.Tx {
			b.Add(cpuset.CPU(q.Index))
		}
	}
	return b.Set()
}

// nicsNamed are the interfaces with these names, or all without any.
func nicsNamed(nics []irq.NIC, names []string) ([]irq.NIC, error) {
	if len(names) == 0 {
		return nics, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(nics, func(n irq.NIC) bool { return n.Name == name }) {
			return nil, fmt.Errorf("there is no network interface %q with a device behind it", name)
		}
	}
	return slices.DeleteFunc(nics, func(n irq.NIC) bool { return !slices.Contains(names, n.Name) }), nil
}
