package lab

import (
	"fmt"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/lab/hint"
	"piton/internal/lab/steer"
	"piton/internal/procfs"
	"piton/internal/topology"
)

// programs steer by XDP.
type programs struct{}

func (programs) Why(ask action.HookAsk) error { return steer.Check(steerOptions(ask)) }

func (programs) Open(ask action.HookAsk) (action.Hook, error) {
	o := steerOptions(ask)
	s, err := steer.Open(o)
	if err != nil {
		return nil, err
	}
	p := &program{Steering: s}
	if o.Policy == steer.Hint || o.Policy == steer.HintByIP {
		hints := hint.Options{Targets: o.Targets, Interfaces: o.Interfaces}
		if o.Policy == steer.HintByIP {
			hints.Carrier = hint.IP
		}
		if hints.Cgroup, err = procfs.New("/").UnifiedCgroup(); err == nil {
			p.hints, err = hint.Attach(hints)
		}
		if err != nil {
			s.Close()
			return nil, err
		}
	}
	return p, nil
}

// program is XDP, with hints of the consumers' CPUs where replies carry them.
type program struct {
	*steer.Steering
	hints *hint.Hints // nil without
}

func (p *program) Check() error {
	_, err := p.Stats()
	return err
}

func (p *program) SetTargets(ids ...kernel.TID) error {
	err := p.Steering.SetTargets(ids...)
	if err == nil && p.hints != nil {
		err = p.hints.SetTargets(ids...)
	}
	return err
}

func (p *program) Notes() (out []string) {
	for _, i := range p.Interfaces {
		text := fmt.Sprintf("%s XDP on %s", i.Mode, i.Name)
		if i.Why != "" {
			text += ": " + i.Why
		}
		out = append(out, text)
	}
	if p.Partial != "" {
		out = append(out, p.Partial)
	}
	return out
}

func (p *program) Close() {
	if p.hints != nil {
		p.hints.Close()
	}
	p.Steering.Close()
}

// steerOptions are what the programs are told.
func steerOptions(ask action.HookAsk) steer.Options {
	o := steer.Options{CPUs: ask.CPUs, Mode: steer.Native, Interfaces: ask.Interfaces, Targets: ask.Targets, Policy: map[action.Policy]steer.Policy{
		action.PolicyCurrent: steer.Current, action.PolicyRequest: steer.Request, action.PolicyApart: steer.Apart,
		action.PolicyLeastLoaded: steer.Chosen, action.PolicyDedicated: steer.Chosen,
	}[ask.Policy]}
	switch ask.Way {
	case action.WayGeneric:
		o.Mode = steer.Generic
	case action.WayHint:
		o.Mode, o.Policy = steer.Auto, steer.Hint
		if ask.ByIP {
			o.Policy = steer.HintByIP
		}
	}
	switch {
	case !o.CPUs.Empty():
	case o.Policy == steer.Apart || o.Policy == steer.Chosen:
		o.CPUs = ask.Topology.Ordinary()
	default: // a consumer may have a CPU that is set apart for it
		o.CPUs = ask.Topology.Online
	}
	if o.Policy == steer.Apart {
		o.Apart = apart(ask.Topology, o.CPUs)
	}
	return o
}

// apart has for each CPU another one of its last-level cache, no SMT sibling where there is
// a choice, and any other where that cache has none.
func apart(t *topology.Topology, among cpuset.Set) map[cpuset.CPU]cpuset.CPU {
	out := map[cpuset.CPU]cpuset.CPU{}
	for cpu := range t.Online.All() {
		c, ok := t.CPU(cpu)
		if !ok {
			continue
		}
		others := among.AndNot(cpuset.Of(cpu))
		for _, set := range []cpuset.Set{others.And(c.LLC).AndNot(c.Core), others.And(c.LLC), others} {
			if cpus := set.CPUs(); len(cpus) > 0 {
				out[cpu] = cpus[int(cpu)%len(cpus)] // spread over them
				break
			}
		}
	}
	return out
}
