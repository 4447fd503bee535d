package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/topology"
	"piton/internal/tune"
)

// tuningOptions are the flags that say what to change: of piton --headless and
// of piton run.
type tuningOptions struct {
	pin         string
	within      string
	nice        string
	policy      string
	rtprio      count
	resetOnFork bool
	ioprio      string
	slice       string
	clamp       string
	mem         bool
	scope       scopeOptions
}

func (o *tuningOptions) addFlags(fs *pflag.FlagSet) {
	o.addSettingFlags(fs)
	fs.BoolVar(&o.mem, "mem", false, memFlag)
	o.scope.addFlags(fs)
}

func (o *tuningOptions) addSettingFlags(fs *pflag.FlagSet) {
	o.rtprio = count{min: 1, max: 99}
	fs.StringVar(&o.pin, "pin", "", "`CPUS` to run on (3, 0-3, node:1, llc:0), or how to choose: "+strategyWords())
	fs.StringVar(&o.within, "within", "", "choose among these `CPUS` only")
	fs.StringVar(&o.nice, "nice", "", "nice `VALUE`, -20 (first) to 19 (last)")
	fs.StringVar(&o.policy, "policy", "", "`POLICY`[:PRIO]: other, batch, idle, ext, fifo, rr, deadline:RUNTIME/DEADLINE/PERIOD")
	fs.Var(&o.rtprio, "rtprio", "real-time priority for fifo and rr, 1 (lowest) to 99")
	fs.BoolVar(&o.resetOnFork, "reset-on-fork", false, "children of a real-time task start as ordinary ones")
	fs.StringVar(&o.slice, "slice", "", "EEVDF slice of ordinary tasks, a `TIME`: 0.1ms to 100ms, 0 for the default")
	fs.StringVar(&o.clamp, "uclamp", "", "utilisation clamps, `MIN,MAX`: 0 to 1024, or per cent")
	fs.StringVar(&o.ioprio, "ioprio", "", "I/O priority `CLASS`[:LEVEL]: real-time, best-effort, idle, none")
}

// any reports whether a change is asked for.
func (o *tuningOptions) any() bool {
	return o.pin != "" || o.nice != "" || o.policy != "" || o.ioprio != "" || o.slice != "" || o.clamp != "" || o.mem
}

// change reads the flags.
func (o *tuningOptions) change(a *app) (action.Tuning, error) {
	var t action.Tuning
	var err error
	if o.pin != "" {
		if t, err = a.placement(o.pin, o.within); err != nil {
			return t, err
		}
	} else if o.within != "" {
		return t, usagef("--within needs --pin")
	}
	if o.nice != "" {
		n, err := tune.ParseNice(o.nice)
		if err != nil {
			return t, err
		}
		t.Nice = &n
	}
	if o.ioprio != "" {
		p, err := tune.ParseIOPrio(o.ioprio)
		if err != nil {
			return t, err
		}
		t.IOPrio = &p
	}
	t.MemoryFollows = o.mem
	if err := o.fair(&t); err != nil {
		return t, err
	}
	t.Policy, err = o.policySetting()
	return t, err
}

// fair reads what ordinary tasks have beside nice.
func (o *tuningOptions) fair(t *action.Tuning) error {
	if o.slice != "" {
		d, err := tune.ParseSlice(o.slice)
		if err != nil {
			return err
		}
		t.Slice = &d
	}
	if o.clamp != "" {
		c, err := tune.ParseClamp(o.clamp)
		if err != nil {
			return err
		}
		t.Clamp = &c
	}
	return nil
}

func (o *tuningOptions) policySetting() (*tune.PolicySetting, error) {
	if o.policy == "" {
		if o.rtprio.n != 0 || o.resetOnFork {
			return nil, usagef("--rtprio and --reset-on-fork need --policy")
		}
		return nil, nil
	}
	p, err := tune.ParsePolicy(o.policy)
	if err != nil {
		return nil, err
	}
	if o.rtprio.n != 0 {
		if p.Policy != kernel.FIFO && p.Policy != kernel.RR {
			return nil, usagef("--rtprio is for --policy fifo and rr")
		}
		if strings.Contains(o.policy, ":") && p.RTPrio != o.rtprio.n {
			return nil, usagef("--policy %s and --rtprio %d disagree", o.policy, o.rtprio.n)
		}
		p.RTPrio = o.rtprio.n
	}
	p.ResetOnFork = p.ResetOnFork || o.resetOnFork
	return &p, nil
}

// placement reads what --pin, --cpu and --place take: CPUs, or a way to choose.
func (a *app) placement(pin, within string) (action.Tuning, error) {
	var t action.Tuning
	limit, err := a.cpus("--within", within)
	if err != nil {
		return t, err
	}
	if s, err := place.ParseStrategy(strings.ToLower(pin)); err == nil {
		return action.Tuning{Strategy: s, Within: limit}, nil
	}
	if within != "" {
		return t, usagef("--within is for choosing (%s), and %s is chosen already", strategyWords(), pin)
	}
	set, err := a.cpus("--pin", pin)
	if err != nil && !strings.ContainsAny(pin, "0123456789") {
		return t, usagef("--pin %s is neither CPUs nor one of %s", pin, strategyWords())
	}
	return action.Tuning{CPUs: set}, err
}

// cpus reads a CPUS expression; plain lists need no look at the machine.
func (a *app) cpus(flag, expr string) (cpuset.Set, error) {
	if expr == "" {
		return cpuset.Set{}, nil
	}
	if set, err := cpuset.Parse(expr); err == nil && !set.Empty() {
		return set, nil
	}
	set, err := a.realCPUs(expr)
	if errors.Is(err, errUsage) {
		err = usagef("%s: %w", flag, err)
	}
	return set, err
}

func (a *app) topology() (*topology.Topology, error) {
	t, err := topology.Read(a.hostRoot)
	if err != nil {
		return nil, fmt.Errorf("read the topology: %w", err)
	}
	return t, nil
}

func strategyWords() string {
	var words []string
	for _, s := range place.Strategies() {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

// scopeOptions say how far a target reaches.
type scopeOptions struct{ process, thread, tree bool }

func (o *scopeOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.process, "process", false, "all threads of the process (the default)")
	fs.BoolVar(&o.thread, "thread", false, "only the thread with that number, not its whole process")
	fs.BoolVar(&o.tree, "tree", false, "the process and all its descendants")
}

func (o *scopeOptions) check() error {
	given := 0
	for _, on := range []bool{o.process, o.thread, o.tree} {
		if on {
			given++
		}
	}
	if given > 1 {
		return usagef("--process, --thread and --tree exclude each other")
	}
	return nil
}

func (o *scopeOptions) scope() tune.Scope {
	switch {
	case o.thread:
		return tune.ScopeThread
	case o.tree:
		return tune.ScopeTree
	}
	return tune.ScopeProcess
}

// runTuning plans a change for the targets and carries it out.
func runTuning(ctx context.Context, a *app, targets []tune.Target, want action.Tuning, o applyOptions) error {
	ctx, stop := a.interruptible(ctx)
	defer stop()
	t, err := a.tuner()
	if err != nil {
		return err
	}
	deps := action.Deps{Tuner: t}
	if want.Strategy != "" {
		if deps.Model, err = a.measure(ctx); err != nil {
			return err
		}
	}
	plan, choices, err := action.Plan(ctx, deps, targets, want)
	if err != nil {
		return err
	}
	if err := a.printChoices(choices, o.output); err != nil {
		return err
	}
	return a.carryOut(ctx, t, plan, o)
}
