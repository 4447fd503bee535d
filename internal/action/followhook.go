package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology"
)

// Hook steers by programs in the kernel, which go with it or with this process: no setting
// is changed, so there is nothing to journal and nothing to guard.
type Hook interface {
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

// HookAsk asks for programs.
type HookAsk struct {
	Way        Way
	ByIP       bool // WayHint by an option of IPv4
	Policy     Policy
	CPUs       cpuset.Set // that were asked for
	Topology   *topology.Topology
	Interfaces []int        // by their indices
	Targets    []kernel.TID // processes
}

// Hooks opens hooks and says beforehand why one could not be opened.
type Hooks interface {
	Why(HookAsk) error
	Open(HookAsk) (Hook, error)
}

// Programs are the hooks of this machine. The laboratory has them.
var Programs Hooks

// hookAsk is what a way by programs is told.
func (s *Steering) hookAsk(w Way) HookAsk {
	ask := HookAsk{Way: w, ByIP: s.HintByIP, Policy: s.Policy, CPUs: s.CPUs, Topology: s.Topology, Targets: s.pids()}
	for _, l := range s.links {
		ask.Interfaces = append(ask.Interfaces, l.Index)
	}
	return ask
}

// hooked is a trial by programs.
func (s *Steering) hooked(ctx context.Context, body func(context.Context, putCandidate) (string, error)) error {
	var h Hook
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
			if h, err = s.hooks.Open(s.hookAsk(s.Way)); err != nil {
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
	if s.hooks == nil {
		return "this piton is built without them"
	}
	if err := s.hooks.Why(s.hookAsk(w)); err != nil {
		return err.Error()
	}
	if loopback := slices.IndexFunc(s.links, func(l link) bool { return l.name == "lo" }); loopback >= 0 && w == WayXDP {
		return "lo has no driver: XDP is generic there"
	}
	return ""
}
