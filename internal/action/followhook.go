package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"piton/internal/bpf/hint"
	"piton/internal/bpf/object"
	"piton/internal/bpf/steer"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/topology"
)

// hook steers by programs in the kernel, which go with it or with this process: no setting
// is changed, so there is nothing to journal and nothing to guard.
type hook interface {
	// SetTargets replaces the processes.
	SetTargets(...kernel.TID) error
	// SetChoice gives the CPU of a policy that chooses.
	SetChoice(cpuset.Set) error
	// Check is an error once it does not steer any more.
	Check() error
	// Notes say how it is done, phrases.
	Notes() []string
	Close()
}

// hooks opens hooks and says beforehand why one could not be opened; tests have others.
type hooks interface {
	why(steer.Options) error
	open(steer.Options) (hook, error)
}

// programs are the real hooks.
type programs struct{}

func (programs) why(o steer.Options) error { return steer.Check(o) }

func (programs) open(o steer.Options) (hook, error) {
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

// hookOptions are what a way by programs is told.
func (s *Steering) hookOptions(w Way) steer.Options {
	o := steer.Options{CPUs: s.CPUs, Mode: steer.Native, Policy: map[Policy]steer.Policy{
		PolicyCurrent: steer.Current, PolicyRequest: steer.Request, PolicyApart: steer.Apart, PolicyLeastLoaded: steer.Chosen, PolicyDedicated: steer.Chosen,
	}[s.Policy]}
	switch w {
	case WayGeneric:
		o.Mode = steer.Generic
	case WayHint:
		o.Mode, o.Policy = steer.Auto, steer.Hint
		if s.Carrier == hint.IP {
			o.Policy = steer.HintByIP
		}
	}
	switch {
	case !o.CPUs.Empty():
	case o.Policy == steer.Apart || o.Policy == steer.Chosen:
		o.CPUs = s.Topology.Ordinary()
	default: // a consumer may have a CPU that is set apart for it
		o.CPUs = s.Topology.Online
	}
	if o.Policy == steer.Apart {
		o.Apart = apart(s.Topology, o.CPUs)
	}
	for _, l := range s.links {
		o.Interfaces = append(o.Interfaces, l.Index)
	}
	o.Targets = s.pids()
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

// hooked is a trial by programs.
func (s *Steering) hooked(ctx context.Context, body func(context.Context, putCandidate) (string, error)) error {
	var h hook
	var told []kernel.TID
	stop := func() {
		if h != nil {
			h.Close()
			h = nil
		}
	}
	defer stop()
	put := func(on bool) (err error) {
		if err := s.here(); err != nil || !on {
			stop()
			return err
		}
		if h == nil {
			if h, err = s.hooks.open(s.hookOptions(s.Way)); err != nil {
				return err
			}
			told, s.Notes = s.pids(), h.Notes()
		}
		if pids := s.pids(); !slices.Equal(told, pids) {
			if err = h.SetTargets(pids...); err != nil {
				return err
			}
			told = pids
		}
		if err = h.Check(); err == nil && s.Policy == PolicyLeastLoaded && s.picker != nil {
			var i int
			if i, err = s.picker.pick(); err == nil {
				err = h.SetChoice(cpuset.Of(s.picker.cpus[i-1]))
			}
		}
		return err
	}
	_, err := body(ctx, put)
	if refused := (*object.Refusal)(nil); err != nil && !errors.As(err, &refused) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; everything is as it was before", err)
	}
	return err
}

// noHook says why programs cannot steer, "" if they can.
func (s *Steering) noHook(w Way) string {
	if err := s.hooks.why(s.hookOptions(w)); err != nil {
		return err.Error()
	}
	if loopback := slices.IndexFunc(s.links, func(l link) bool { return l.name == "lo" }); loopback >= 0 && w == WayXDP {
		return "lo has no driver: XDP is generic there"
	}
	return ""
}
