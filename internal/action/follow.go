package action

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/chart"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/watch"
)

// Policy says which CPU is to process the packets of a flow.
type Policy string

// The policies.
const (
	PolicyCurrent     Policy = "current"      // the one on which its consumer runs
	PolicyRequest     Policy = "request"      // the one on which its consumer wrote last
	PolicyLeastLoaded Policy = "least-loaded" // the one with the most idle time
	PolicyDedicated   Policy = "dedicated"    // given ones
	PolicyApart       Policy = "apart"        // another one of its consumer's last-level cache
)

// ParsePolicy reads a policy; cpus are the CPUS of dedicated=CPUS, "" with another one. The error
// is the end of a sentence.
func ParsePolicy(text string) (p Policy, cpus string, err error) {
	name, cpus, given := strings.Cut(text, "=")
	p = Policy(name)
	switch {
	case !slices.Contains([]Policy{PolicyCurrent, PolicyRequest, PolicyLeastLoaded, PolicyDedicated, PolicyApart}, p):
		err = errors.New("it must be current, request, least-loaded, dedicated=CPUS or apart")
	case given != (p == PolicyDedicated) || given && cpus == "":
		err = errors.New("CPUs go with dedicated only, as dedicated=0-1")
	}
	return p, cpus, err
}

// Seen is what was seen of the flows of some processes.
type Seen struct {
	watch.Flows
	model.Locality
	NICs      []string   // by which packets came in
	Consumers cpuset.Set // CPUs that consumed them
}

// share is a part of what was placed.
func (s Seen) share(part uint64) float64 {
	share, _ := s.Share(part)
	return share
}

// String is the part of a sentence that says how near.
func (s Seen) String() string {
	return chart.Percent(s.share(s.SameCPU)) + " of the bytes are processed on their consumer's CPU"
}

// Look looks at the flows of the processes for some time.
type Look func(ctx context.Context, d time.Duration) (Seen, error)

const (
	// LookTime is how long flows are looked at before and after they are steered.
	LookTime = 2 * time.Second
	// NearEnough is the share above which nothing is to be gained.
	NearEnough = 0.95
)

// SteerAsk asks for packets to be processed where a policy says.
type SteerAsk struct {
	Targets []change.Target
	// Renew returns the targets that there are now, where they change while they are steered; nil
	// where they only end.
	Renew    func(now []change.Target) []change.Target
	Policy   Policy
	CPUs     cpuset.Set // of PolicyDedicated
	Via      Way        // "": the cheapest that is to be had
	HintByIP bool       // WayHint by an option of IPv4, not of TCP
	Topology *topology.Topology
	Table    *irq.Table // nil: no interrupt is moved
	Look     Look
	By       string // who asks, for the journal; "" or ended by ": "
	// Ntuple reads whether an interface sorts flows by filters; nil is this machine's.
	Ntuple func(nic string) (Filters, error)
	hooks  Hooks // nil is this machine's
}

// Steering is a way to steer packets, that has been chosen and not been set.
type Steering struct {
	SteerAsk
	Way    Way      // "" where there is nothing to set
	Cost   string   // of the way, a phrase
	Missed []Missed // ways that would be better, with the reason
	Why    string   // why nothing is to be set, or what is set; a sentence
	Before Seen
	Notes  []string // on how it is done, once programs steer; phrases
	Ended  bool     // all processes have

	tuner     *change.Tuner
	links     []link
	netns     string                            // of piton, "" if it cannot be read
	watched   []change.Target                   // that have not ended, with their starts
	picker    *picker                           // nil where a policy leaves no choice
	set       func(cpuset.Set) []change.Request // by the way
	trialPlan change.Plan
}

// link is an interface as it was.
type link struct {
	name string
	irq.Link
}

// LookAt looks at the flows of processes and chooses the way to steer them. Where Way is ""
// in what it returns there is nothing to do.
func LookAt(ctx context.Context, t *change.Tuner, ask SteerAsk) (*Steering, error) {
	s := &Steering{SteerAsk: ask, tuner: t}
	if s.Ntuple == nil {
		s.Ntuple = NtupleFilters
	}
	if s.hooks == nil {
		s.hooks = Programs
	}
	if err := s.identify(); err != nil {
		return nil, err
	}
	if ask.Policy == PolicyLeastLoaded || ask.Policy == PolicyApart {
		s.picker = newPicker(s)
	}
	var err error
	if s.Before, err = ask.Look(ctx, LookTime); err != nil {
		return nil, err
	}
	if s.Why = s.enough(); s.Why != "" {
		return s, nil
	}
	var nics []irq.NIC
	fs := irq.New(t.Proc.Root())
	for _, name := range s.Before.NICs {
		nic, there := fs.Interface(name)
		if !there {
			return nil, fmt.Errorf("interface %s, by which packets came in, is not there any more", name)
		}
		nics, s.links = append(nics, nic), append(s.links, link{name, fs.Link(name)})
	}
	if len(nics) == 0 {
		return nil, errors.New("no interface is known by which the packets came in")
	}
	return s, s.choose(ctx, fs, nics)
}

// identify notes the processes by their starts.
func (s *Steering) identify() (err error) {
	s.netns = s.namespace("self")
	if s.watched, err = s.alive(s.Targets); err != nil && (s.Renew == nil || len(s.watched) == 0) {
		return err
	}
	return nil
}

// find looks at a target that can be steered: one that has not ended, and whose number is not
// another's by now. Those of another network namespace have interfaces that cannot be set
// from here.
func (s *Steering) find(t change.Target) (attr.Task, error) {
	k, err := s.tuner.Look(t.TID, t.TID)
	if err == nil && (k.Ended() || t.StartTicks != 0 && t.StartTicks != k.StartTicks) {
		err = attr.ErrGone
	}
	if err != nil {
		return k, fmt.Errorf("process %d: %w", t.TID, err)
	}
	if its := s.namespace(fmt.Sprint(t.TID)); s.netns != "" && its != "" && its != s.netns {
		return k, fmt.Errorf("%s %d is in another network namespace: piton steers by interfaces of its own one only; try ip netns attach NAME %d, then ip netns exec NAME piton irq follow …: %w", attr.Printable(k.Comm), t.TID, t.TID, attr.ErrNotSupported)
	}
	return k, nil
}

// alive are those that can be steered, with their starts; the error is that of one that cannot.
func (s *Steering) alive(of []change.Target) (out []change.Target, err error) {
	for _, t := range of {
		k, why := s.find(t)
		if why != nil {
			err = why
			continue
		}
		t.StartTicks = k.StartTicks
		out = append(out, t)
	}
	return out, err
}

// pids are the numbers of the targets, in order.
func (s *Steering) pids() (out []kernel.TID) {
	for _, t := range s.watched {
		out = append(out, t.TID)
	}
	slices.Sort(out)
	return out
}

// renew leaves out targets that have ended, and takes in those that there are now.
func (s *Steering) renew() error {
	before := processes(s.watched)
	s.watched, _ = s.alive(s.watched)
	if s.Renew != nil {
		s.watched, _ = s.alive(s.Renew(s.watched))
	}
	if s.Ended = len(s.watched) == 0; s.Ended {
		return fmt.Errorf("%s: %w", before, attr.ErrGone)
	}
	return nil
}

// namespace is the network namespace of a process, "" if it cannot be read.
func (s *Steering) namespace(pid string) string {
	name, _ := kernel.ReadLink(filepath.Join(s.tuner.Proc.Root(), "proc", pid, "ns/net"))
	return name
}

// enough says why nothing is to be done, "" if something is.
func (s *Steering) enough() string {
	b := s.Before
	cpu, llc := b.share(b.SameCPU), b.share(b.SameLLC)
	switch {
	case b.Bytes == 0:
		return fmt.Sprintf("nothing was received in %v: nothing is set", LookTime)
	case b.Placed == 0:
		return "it is not known on which CPU the packets are processed, as of UDP sockets without a connection: nothing is set"
	case (s.Policy == PolicyCurrent || s.Policy == PolicyRequest) && cpu >= NearEnough:
		return fmt.Sprintf("%s already: nothing is set", b)
	case s.Policy == PolicyApart && llc >= NearEnough && cpu <= 1-NearEnough:
		return fmt.Sprintf("%s of the bytes are processed on another CPU of their consumer's last-level cache already: nothing is set", chart.Percent(llc-cpu))
	}
	return ""
}

// here reports why the steering cannot go on: its interfaces or its processes are not there
// any more, or CPUs that were asked for are offline.
func (s *Steering) here() error {
	fs := irq.New(s.tuner.Proc.Root())
	for _, l := range s.links {
		switch now := fs.Link(l.name); {
		case now.Index == 0:
			return fmt.Errorf("interface %s was removed", l.name)
		case now.Index != l.Index:
			return fmt.Errorf("interface %s was replaced by another one with its name", l.name)
		case l.Up && !now.Up:
			return fmt.Errorf("interface %s went down", l.name)
		}
	}
	if s.Policy == PolicyDedicated {
		if online, err := s.tuner.Online(); err == nil && !s.CPUs.SubsetOf(online) {
			return fmt.Errorf("%s went offline", s.CPUs.AndNot(online).InWords())
		}
	}
	return s.renew()
}

// processes names processes for an error.
func processes(targets []change.Target) string {
	if len(targets) == 1 {
		return fmt.Sprintf("process %d", targets[0].TID)
	}
	return fmt.Sprintf("all %d processes", len(targets))
}
