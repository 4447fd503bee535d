package irqcmd

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/watch"
)

// steerFlags are the flags that only steering has.
var steerFlags = []string{"policy", "via", CarrierFlag, "try", "dry-run"}

// CarrierFlag says what carries hints: an option of TCP, or of IPv4.
const (
	CarrierFlag = "hint-carrier"
	CarrierTCP  = "tcp"
	CarrierIP   = "ip"
)

// NewCarrier is the flag's value.
func NewCarrier() flags.Choice {
	return flags.Choice{Value: CarrierTCP, Among: []string{CarrierTCP, CarrierIP}}
}

// steerRate is what steering is judged by.
const steerRate = "bytes"

// steerOptions are the flags of piton irq follow that steer.
type steerOptions struct {
	policy string
	via    flags.Choice
	hinted flags.Choice
	try    flags.Interval
	dryRun bool
}

func (o *steerOptions) addFlags(fs *pflag.FlagSet) {
	o.via = flags.Choice{Value: action.WayAuto, Among: []string{action.WayAuto, action.WayNtuple, string(action.WayARFS), string(action.WayRFS), string(action.WayIRQ), string(action.WayRPS),
		string(action.WayXDP), string(action.WayGeneric), string(action.WayHint)}}
	o.try = flags.Interval{Min: action.LeastTry, Max: time.Hour}
	fs.StringVar(&o.policy, "policy", string(action.PolicyCurrent), "the CPU that is to process packets, a `POLICY`: current, request, least-loaded, dedicated=CPUS or apart")
	fs.Var(&o.via, "via", "the way; auto is the cheapest that there is")
	o.hinted = NewCarrier()
	fs.Var(&o.hinted, CarrierFlag, "what carries the CPU with --via hint: an option of TCP, or of IPv4, which costs throughput (see --help)")
	fs.Var(&o.try, "try", "steer and do not steer in turn for this time, and judge by the bytes that the targets receive and send")
	fs.BoolVar(&o.dryRun, "dry-run", false, "look, print what would be set and why, and set nothing")
}

// changedFlags is the first of the flags that was given, "" if none was.
func changedFlags(fs *pflag.FlagSet, names ...string) string {
	i := slices.IndexFunc(names, fs.Changed)
	if i < 0 {
		return ""
	}
	return names[i]
}

// ask reads the flags.
func (o *steerOptions) ask(a *app.App, of watch.Targets) (ask action.SteerAsk, err error) {
	var cpus string
	if ask.Policy, cpus, err = action.ParsePolicy(o.policy); err != nil {
		return ask, exit.Usagef("--policy %s: %v", o.policy, err)
	}
	if cpus != "" {
		if ask.CPUs, err = a.FlagCPUs("--policy dedicated=", cpus); err != nil {
			return ask, err
		}
	}
	for _, pid := range of.IDs {
		ask.Targets = append(ask.Targets, change.Target{TID: pid})
	}
	if ask.Via, err = ask.Policy.ParseWay(o.via.Value); err != nil {
		return ask, exit.Usagef("--via %s does not do --policy %s: %v", o.via.Value, ask.Policy, err)
	}
	if of.Scope == watch.Tree {
		ask.Renew = func(now []change.Target) []change.Target { return descendants(procfs.New(a.HostRoot), now) }
	}
	ask.HintByIP = o.hinted.Value == CarrierIP
	if ask.HintByIP && ask.Via != action.WayHint {
		return ask, exit.Usagef("--%s goes with --via hint only", CarrierFlag)
	}
	if ask.Topology, err = a.Topology(); err != nil {
		return ask, err
	}
	ask.Look = action.LookAtFlows(procfs.New(a.HostRoot), ask.Topology, of)
	if table, err := a.Interrupts(); err == nil {
		ask.Table = &table
	}
	return ask, nil
}

func numbers(of []change.Target) []kernel.TID {
	return group.Each(of, func(t change.Target) kernel.TID { return t.TID })
}

// descendants are processes with what they have begun, all but those that are known by their
// numbers alone.
func descendants(fs procfs.FS, of []change.Target) []change.Target {
	ids := numbers(of)
	all, err := watch.Descendants(fs, ids)
	if err != nil {
		return of // it is looked again
	}
	known := map[kernel.TID]bool{}
	for _, pid := range ids {
		known[pid] = true
	}
	for _, pid := range all {
		if !known[pid] {
			of = append(of, change.Target{TID: pid})
		}
	}
	return of
}

// steer steers the packets of processes until it is over or ctx ends.
func steer(ctx context.Context, a *app.App, of watch.Targets, o followOptions) error {
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	switch within := o.length; {
	case o.steer.try.Given && within.Given:
		return exit.Usagef("give --try or --for, not both")
	case within.Duration > action.LongestSteering:
		return exit.Usagef("--for: packets are steered for at most %v", action.LongestSteering)
	}
	ask, err := o.steer.ask(a, of)
	if err != nil {
		return err
	}
	t, err := a.Tuner()
	if err != nil {
		return err
	}
	s, err := action.LookAt(ctx, t, ask)
	if err != nil {
		return err
	}
	end := &steerEnd{app: a, json: o.output.JSON(), steering: s, then: s.Before}
	end.before()
	switch {
	case s.Way == "":
	case o.steer.dryRun:
		var preview change.Outcome
		if preview, err = s.Preview(ctx); err == nil && len(preview.Changes) > 0 { // programs set nothing
			err = changes.Report(a, preview, changes.Options{Output: o.output, DryRun: true}, nil)
		}
	case o.steer.try.Given:
		err = end.try(ctx, o.steer.try.Duration)
	default:
		err = s.Run(ctx, o.length.Duration, end.after)
	}
	return end.end(err)
}
