package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/cpuset"
	"piton/internal/irq"
)

// queueOptions are the flags of piton irq queues: without one that sets
// something, it lists.
type queueOptions struct {
	apply    applyOptions
	rps, xps string
	queue    string
	flows    optionalCount
	entries  optionalCount
}

func (o *queueOptions) addFlags(cmd *cobra.Command) {
	o.flows, o.entries = optionalCount{count: count{max: 1 << 29}}, optionalCount{count: count{max: 1 << 29}}
	cmd.Flags().StringVar(&o.rps, "rps", "", "`CPUS` that process what comes in, or off")
	cmd.Flags().StringVar(&o.xps, "xps", "", "`CPUS` that send through the queues, or off")
	cmd.Flags().Var(&o.flows, "rps-flows", "flows that RFS steers, of each receive queue; 0 is off")
	cmd.Flags().Var(&o.entries, "rfs-entries", "entries of RFS's table, for all interfaces together; 0 is off")
	cmd.Flags().StringVar(&o.queue, "queue", "", "set only the queues with these `NUMBERS` (0, 0-3)")
	o.apply.addFlags(cmd.Flags())
}

// optionalCount is a count that may be 0, and knows whether it was given.
type optionalCount struct {
	count
	given bool
}

// String is the default in the help: none.
func (c *optionalCount) String() string { return "" }

// Set is part of pflag.Value.
func (c *optionalCount) Set(text string) error {
	c.given = true
	return c.count.Set(text)
}

func (o *queueOptions) sets() bool {
	return o.rps != "" || o.xps != "" || o.queue != "" || o.flows.given || o.entries.given || o.apply.dryRun || o.apply.yes
}

// request reads the flags.
func (o *queueOptions) request(a *app) (q action.QueueSettings, err error) {
	if o.rps == "" && o.xps == "" && !o.flows.given && !o.entries.given {
		return q, usagef("nothing to set: use --rps, --xps, --rps-flows or --rfs-entries")
	}
	if q.RPS, err = a.cpusOrOff("--rps", o.rps); err != nil {
		return q, err
	}
	if q.XPS, err = a.cpusOrOff("--xps", o.xps); err != nil {
		return q, err
	}
	if o.flows.given {
		q.Flows = &o.flows.n
	}
	if o.entries.given {
		q.Entries = &o.entries.n
	}
	if o.queue != "" {
		if q.Only, err = cpuset.Parse(o.queue); err != nil || q.Only.Empty() {
			return q, usagef("--queue %s is no list of numbers", o.queue)
		}
	}
	return q, nil
}

// cpusOrOff reads CPUS, or off for none; nil when nothing was given.
func (a *app) cpusOrOff(flag, expr string) (*cpuset.Set, error) {
	switch strings.ToLower(expr) {
	case "":
		return nil, nil
	case "off", "none":
		return &cpuset.Set{}, nil
	}
	cpus, err := a.cpus(flag, expr)
	return &cpus, err
}

func (a *app) setQueues(cmd *cobra.Command, names []string, o queueOptions) error {
	if !a.live() {
		return change.ErrNotLive
	}
	q, err := o.request(a)
	if err != nil {
		return err
	}
	var nics []irq.NIC
	if q.RPS != nil || q.XPS != nil || q.Flows != nil {
		if len(names) == 0 {
			return usagef("missing interface: name it (see piton irq queues)")
		}
	} else if len(names) > 0 || o.queue != "" {
		return usagef("--rfs-entries takes no interface or queue: all share it")
	}
	fs := irq.New(a.hostRoot)
	if len(names) > 0 {
		if nics, err = nicsNamed(fs.NICs(), names); err != nil {
			return err
		}
	}
	if missing := q.Only.AndNot(queuesOf(nics)); !missing.Empty() {
		return fmt.Errorf("%s has no queue %s", strings.Join(names, ", "), missing)
	}
	if q.Flows != nil && *q.Flows > 0 && q.Entries == nil && fs.FlowEntries() == 0 {
		a.warn("RFS stays off until its table has entries: add --rfs-entries, such as %d", 1<<15)
	}
	requests := action.SetQueues(nics, q)
	if len(requests) == 0 {
		return fmt.Errorf("%s has no such queue", strings.Join(names, ", "))
	}
	return a.tuneFiles(cmd, requests, o.apply)
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
