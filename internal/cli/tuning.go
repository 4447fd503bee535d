package cli

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/place"
)

// tuningOptions are the flags that say what to change: of piton --headless and
// of piton run.
type tuningOptions struct {
	pin         string
	within      string
	values      map[attr.Attribute]*string // of the attributes that have a flag
	rtprio      count
	resetOnFork bool
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
	o.values = map[attr.Attribute]*string{}
	for _, name := range attr.All() {
		if c := name.Command(); c != nil {
			o.values[name] = fs.String(c.Flag, "", c.Usage)
		}
	}
	fs.Var(&o.rtprio, "rtprio", "real-time priority for fifo and rr, 1 (lowest) to 99")
	fs.BoolVar(&o.resetOnFork, "reset-on-fork", false, "children of a real-time task start as ordinary ones")
}

// changeFlags are the flags of changes.
func changeFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&tuningOptions{}).addFlags(fs)
	(&applyOptions{}).addApplyFlags(fs)
	return fs
}

// any reports whether a change is asked for.
func (o *tuningOptions) any() bool {
	for _, value := range o.values {
		if *value != "" {
			return true
		}
	}
	return o.pin != "" || o.mem
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
	if o.mem {
		t.Set = append(t.Set, attr.SetMemoryNear(attr.CPUs(cpusOf(t))))
	}
	for _, name := range attr.All() {
		text := o.values[name]
		if text == nil || *text == "" {
			continue
		}
		value, err := name.Parse(*text)
		if err != nil {
			return t, err
		}
		if name == attr.Policy {
			if value, err = o.policy(*text, attr.PolicyOf(value)); err != nil {
				return t, err
			}
		}
		t.Set = append(t.Set, attr.Setting{Attribute: name, Value: value})
	}
	if *o.values[attr.Policy] == "" && (o.rtprio.n != 0 || o.resetOnFork) {
		return t, usagef("--rtprio and --reset-on-fork need --policy")
	}
	return t, nil
}

// cpusOf is the CPUs that a tuning sets, nil for none.
func cpusOf(t action.Tuning) attr.Value {
	v, _ := change.Request{Set: t.Set}.Affinity()
	return v
}

// policy joins --policy with the flags that say more of it.
func (o *tuningOptions) policy(text string, p attr.PolicyValue) (attr.PolicyValue, error) {
	if o.rtprio.n != 0 {
		if p.Policy != kernel.FIFO && p.Policy != kernel.RR {
			return p, usagef("--rtprio is for --policy fifo and rr")
		}
		if strings.Contains(text, ":") && p.RTPrio != o.rtprio.n {
			return p, usagef("--policy %s and --rtprio %d disagree", text, o.rtprio.n)
		}
		p.RTPrio = o.rtprio.n
	}
	p.ResetOnFork = p.ResetOnFork || o.resetOnFork
	return p, nil
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
		return t, usagef("--within needs a strategy (%s), not --pin %s", strategyWords(), pin)
	}
	set, err := a.cpus("--pin", pin)
	if err != nil && !strings.ContainsAny(pin, "0123456789") {
		return t, usagef("--pin %s is neither CPUs nor one of %s", pin, strategyWords())
	}
	return action.Tuning{Set: []attr.Setting{attr.SetAffinity(set)}}, err
}

func strategyWords() string {
	var words []string
	for _, s := range place.Strategies() {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

// tune plans a change for the targets and carries it out.
func (a *app) tune(ctx context.Context, c chosen, want action.Tuning, o applyOptions) error {
	return a.change(ctx, o, func(ctx context.Context, t *change.Tuner) (change.Plan, error) {
		deps := action.Deps{Tuner: t}
		if want.Strategy != "" {
			var err error
			if deps.Model, err = a.measure(ctx); err != nil {
				return change.Plan{}, err
			}
		}
		plan, choices, err := action.Plan(ctx, deps, c.targets, want)
		if err == nil {
			needWide(&plan, c.wide)
			a.printChoices(choices, o.output)
		}
		return plan, err
	})
}
