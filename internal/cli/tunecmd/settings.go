package tunecmd

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/place"
)

// nearCPUs is --mem: what else is set says which CPUs.
var nearCPUs = attr.SetMemoryNear(cpuset.Set{})

// Settings are the flags that say what to change: of piton --headless and
// of piton run.
type Settings struct {
	pin         string
	within      string
	values      map[attr.Attribute]*string // of the attributes that have a flag
	rtprio      flags.Count
	resetOnFork bool
	mem         bool
	Scope       flags.Scope
}

// AddFlags adds the flags.
func (o *Settings) AddFlags(fs *pflag.FlagSet) {
	o.addSettingFlags(fs)
	fs.BoolVar(&o.mem, "mem", false, memFlag)
	o.Scope.AddFlags(fs)
}

func (o *Settings) addSettingFlags(fs *pflag.FlagSet) {
	o.rtprio = flags.Count{Min: 1, Max: 99}
	fs.StringVar(&o.pin, "pin", "", "`CPUS` to run on (3, 0-3, node:1, llc:0), or how to choose: "+strategyWords())
	fs.StringVar(&o.within, "within", "", "choose among these `CPUS` only")
	o.values = map[attr.Attribute]*string{}
	for _, name := range attr.All() {
		if c := name.Command(); c != nil && c.Flag != "" {
			o.values[name] = fs.String(c.Flag, "", c.Usage)
		}
	}
	fs.Var(&o.rtprio, "rtprio", "real-time priority for fifo and rr, 1 (lowest) to 99")
	fs.BoolVar(&o.resetOnFork, "reset-on-fork", false, "children of a real-time task start as ordinary ones")
}

// ChangeFlags are the flags of changes.
func ChangeFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&Settings{}).AddFlags(fs)
	(&changes.Options{}).AddChangeFlags(fs)
	return fs
}

// Any reports whether a change is asked for.
func (o *Settings) Any() bool {
	for _, value := range o.values {
		if *value != "" {
			return true
		}
	}
	return o.pin != "" || o.mem
}

// Tuning reads the flags.
func (o *Settings) Tuning(a *app.App) (action.Tuning, error) {
	var t action.Tuning
	var err error
	if o.pin != "" {
		if t, err = o.placement(a); err != nil {
			return t, err
		}
	} else if o.within != "" {
		return t, exit.Usagef("--within needs --pin")
	}
	if o.mem {
		t.Set = append(t.Set, nearCPUs)
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
	if *o.values[attr.Policy] == "" && (o.rtprio.N != 0 || o.resetOnFork) {
		return t, exit.Usagef("--rtprio and --reset-on-fork need --policy")
	}
	return t, nil
}

// policy joins --policy with the flags that say more of it.
func (o *Settings) policy(text string, p attr.PolicyValue) (attr.PolicyValue, error) {
	if o.rtprio.N != 0 {
		if p.Policy != kernel.FIFO && p.Policy != kernel.RR {
			return p, exit.Usagef("--rtprio is for --policy fifo and rr")
		}
		if strings.Contains(text, ":") && p.RTPrio != o.rtprio.N {
			return p, exit.Usagef("--policy %s and --rtprio %d disagree", text, o.rtprio.N)
		}
		p.RTPrio = o.rtprio.N
	}
	p.ResetOnFork = p.ResetOnFork || o.resetOnFork
	return p, nil
}

// placement reads --pin, which takes CPUs or a way to choose them.
func (o *Settings) placement(a *app.App) (action.Tuning, error) {
	if _, err := place.ParseStrategy(strings.ToLower(o.pin)); err == nil {
		return placement(a, "", "", o.pin, o.within)
	}
	if o.within != "" {
		return action.Tuning{}, exit.Usagef("--within needs a strategy (%s), not --pin %s", strategyWords(), o.pin)
	}
	t, err := placement(a, "--pin", o.pin, "", "")
	if err != nil && !strings.ContainsAny(o.pin, "0123456789") {
		return t, exit.Usagef("--pin %s is neither CPUs nor one of %s", o.pin, strategyWords())
	}
	return t, err
}

// placement reads the CPUs of a flag, or how they are chosen among those of --within.
func placement(a *app.App, flag, cpus, how, within string) (t action.Tuning, err error) {
	if cpus != "" {
		set, err := a.FlagCPUs(flag, cpus)
		return action.Tuning{Set: []attr.Setting{attr.SetAffinity(set)}}, err
	}
	if t.Strategy, err = place.ParseStrategy(strings.ToLower(how)); err != nil {
		return t, exit.With(exit.Usage, err)
	}
	t.Within, err = a.FlagCPUs("--within", within)
	return t, err
}

func strategyWords() string { return strings.Join(place.Words(), ", ") }

// Tune plans a change for the targets and carries it out.
func Tune(ctx context.Context, a *app.App, c app.Chosen, want action.Tuning, o changes.Options) error {
	return changes.Run(ctx, a, o, func(ctx context.Context, t *change.Tuner) (change.Plan, error) {
		deps := action.Deps{Tuner: t}
		if want.Strategy != "" {
			var err error
			if deps.Model, err = a.Measure(ctx); err != nil {
				return change.Plan{}, err
			}
		}
		p, err := deps.Plan(ctx, action.Request{Targets: c.Targets, Tuning: want})
		if err == nil {
			app.ConfirmWide(&p.Plan, c.Wide)
			changes.PrintChoices(a, p.Choices, o.Output)
		}
		return p.Plan, err
	})
}
