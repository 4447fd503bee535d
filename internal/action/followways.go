package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
)

// Way is by what packets are steered.
type Way string

// The ways that the kernel and the NIC offer (Documentation/networking/scaling.rst).
const (
	WayARFS Way = "arfs" // accelerated RFS: the kernel writes filters of the NIC (ntuple)
	WayIRQ  Way = "irq"  // the affinity of the queues' interrupts
	WayRFS  Way = "rfs"
	WayRPS  Way = "rps"
	// Programs of piton steer the packets of the processes alone.
	WayXDP     Way = "xdp"         // in the driver, to the other CPU by a CPUMAP
	WayGeneric Way = "xdp-generic" // after the kernel has a buffer for the packet
	WayHint    Way = "hint"        // by the consumer's CPU in an option of TCP or IPv4, which the other side sends back
)

// Words of users.
const (
	WayAuto   = "auto"   // the cheapest way that is to be had
	WayNtuple = "ntuple" // WayARFS: filters that piton wrote would have to follow each flow and each move of its reader, as the kernel's do
)

// HintIPCost is what hints by the option of IPv4 cost, a phrase.
const HintIPCost = "26 to 29 % of the throughput (measured over veth): the kernel merges no packets with IP options (GRO); " +
	"4 bytes of each packet; routers may drop such packets; IPv4 and CPUs 0 to 31 only"

// Missed is a way that would be better, and why it is not to be had.
type Missed struct {
	Way Way
	Why string
}

// Reasons say what speaks against each better way, how it is done, and why nothing is set.
func (s *Steering) Reasons() (out []string) {
	for _, m := range s.Missed {
		out = append(out, fmt.Sprintf("%s: %s", m.Way, m.Why))
	}
	out = append(out, s.Notes...)
	if s.Why != "" {
		out = append(out, s.Why)
	}
	return out
}

// way is a way that a policy may take.
type way struct {
	name Way
	cost string
	// why says why the interfaces do not have it, "" if they have.
	why func(*waySearch) string
	// set asks for packets to be processed on the CPUs; RFS knows them itself. It is nil where
	// programs steer.
	set func(*waySearch, cpuset.Set) []change.Request
	// asked: it is taken only where it is asked for.
	asked bool
}

// rfsEntries is the size of RFS's table where none is set: what scaling.rst suggests for a
// server with a moderate number of connections.
const rfsEntries = 32768

var (
	arfs = way{WayARFS, "nothing for each packet: the NIC sorts them", (*waySearch).noARFS, (*waySearch).setRFS, false}
	rfs  = way{WayRFS, "for packets that came in on another CPU, an interrupt to that of the consumer", (*waySearch).noRFS, (*waySearch).setRFS, false}
	irqs = way{WayIRQ, "nothing for each packet; all flows of the interface go there", (*waySearch).noIRQ,
		func(s *waySearch, cpus cpuset.Set) []change.Request { return MoveIRQs(s.lines, cpus) }, false}
	rps = way{WayRPS, "an interrupt to the other CPU for packets that came in elsewhere; all flows of the interface go there", (*waySearch).noRPS,
		func(s *waySearch, cpus cpuset.Set) []change.Request {
			return SetQueues(s.nics, QueueSettings{RPS: &cpus})
		}, false}
	xdp = way{name: WayXDP, cost: "a program for each packet that comes in by the interface, and an interrupt to the other CPU for those that are handed over",
		why: func(s *waySearch) string { return s.noPrograms(WayXDP) }}
	generic = way{name: WayGeneric, cost: "a program for each packet after its buffer was made, and packets are not merged (GRO)",
		why: func(s *waySearch) string { return s.noPrograms(WayGeneric) }}
	hinted = way{name: WayHint, cost: "8 bytes of each packet, and a program for each that comes in; the servers' side runs piton irq hint serve",
		why: func(s *waySearch) string { return s.noPrograms(WayHint) }, asked: true}
)

// waysOf are the ways of a policy, the cheapest first. All but those by programs concern
// every flow of the interface; for a policy other than PolicyCurrent that is worse than what
// programs cost.
func waysOf(p Policy) []way {
	switch p {
	case PolicyCurrent:
		return []way{arfs, rfs, xdp, generic, hinted}
	case PolicyRequest:
		return []way{xdp, generic, hinted}
	}
	return []way{xdp, irqs, rps, generic}
}

// Ways are the ways that can be asked for with a policy.
func (p Policy) Ways() []Way {
	var out []Way
	for _, w := range waysOf(p) {
		out = append(out, w.name)
	}
	return out
}

// ParseWay reads a way of the policy; "" and auto are that which is the cheapest to be had. The
// error is the end of a sentence.
func (p Policy) ParseWay(text string) (Way, error) {
	if text == "" || text == WayAuto {
		return "", nil
	}
	ways := p.Ways()
	if text == WayNtuple {
		text = string(WayARFS)
	}
	if !slices.Contains(ways, Way(text)) {
		var words []string
		for _, w := range ways {
			words = append(words, string(w))
		}
		return "", fmt.Errorf("the ways of %s are %s", p, strings.Join(words, ", "))
	}
	return Way(text), nil
}

// waySearch is the search for a way.
type waySearch struct {
	*Steering
	fs    irq.FS
	nics  []irq.NIC
	lines []*irq.Row // of the receive queues
}

// choose chooses the way and plans its trial.
func (s *Steering) choose(ctx context.Context, fs irq.FS, nics []irq.NIC) error {
	search := &waySearch{Steering: s, fs: fs, nics: nics}
	for _, w := range waysOf(s.Policy) {
		if s.Via != "" && s.Via != w.name || s.Via == "" && w.asked {
			continue
		}
		if why := w.why(search); why != "" {
			s.Missed = append(s.Missed, Missed{w.name, why})
			continue
		}
		s.Way, s.Cost = w.name, w.cost
		if w.name == WayHint && s.HintByIP {
			s.Cost = HintIPCost + "; the servers' side runs piton irq hint serve --hint-carrier ip"
		}
		if w.set == nil {
			if s.picker != nil {
				return s.picker.start(s.Before.Consumers)
			}
			return nil
		}
		return s.plan(ctx, func(cpus cpuset.Set) []change.Request { return w.set(search, cpus) })
	}
	err := errors.New("there is no way to steer these packets")
	for _, m := range s.Missed {
		err = fmt.Errorf("%w; %s: %s", err, m.Way, m.Why)
	}
	return fmt.Errorf("%w: %w", err, attr.ErrNotSupported)
}

// Preview is what would be set now: nothing where programs steer.
func (s *Steering) Preview(ctx context.Context) (change.Outcome, error) {
	if s.set == nil {
		return change.Outcome{}, nil
	}
	cpus := s.CPUs
	if s.picker != nil {
		i, err := s.picker.pick()
		if err != nil {
			return change.Outcome{}, err
		}
		cpus = cpuset.Of(s.picker.cpus[i-1])
	}
	plan, err := s.tuner.Plan(ctx, s.set(cpus))
	return plan.Preview(), err
}

// plan plans a trial of the candidates: the CPUs between which the policy chooses, or one.
func (s *Steering) plan(ctx context.Context, set func(cpuset.Set) []change.Request) (err error) {
	s.set = set
	reason := fmt.Sprintf("%sirq follow: %s by %s", s.By, s.Policy, s.Way)
	candidates := [][]change.Request{set(s.CPUs)}
	if s.picker != nil {
		if err = s.picker.start(s.Before.Consumers); err != nil {
			return err
		}
		candidates = candidates[:0]
		for _, cpu := range s.picker.cpus {
			candidates = append(candidates, set(cpuset.Of(cpu)))
		}
	}
	for _, requests := range candidates {
		for i := range requests {
			requests[i].Reason = reason
		}
	}
	if s.trialPlan, err = s.tuner.PlanTrial(ctx, candidates); err != nil {
		return err
	}
	if bad, ok := s.trialPlan.Preview().FirstBad(); ok {
		return notSet{bad}
	}
	if !s.trialPlan.WillChange() {
		s.Why = fmt.Sprintf("what %s needs is set already, and %s: nothing is set", s.Way, s.Before)
		s.Way = ""
	}
	return nil
}

// notSet is a change that could not be made; it Is what the kernel or the rights say.
type notSet struct{ change.Change }

func (n notSet) Error() string { return n.Object.Object() + ": " + n.Why() }
func (n notSet) Unwrap() error { return n.Err }

// Filters is whether a network interface sorts flows to queues by filters (ethtool -k,
// rx-ntuple-filter).
type Filters struct {
	Has bool // it can, if it is switched on
	On  bool
}

// NtupleFilters reads the Filters of an interface of this network namespace. The laboratory has it.
var NtupleFilters func(nic string) (Filters, error)

// noARFS says why RFS cannot use filters of the NIC.
func (s *waySearch) noARFS() string {
	if s.Ntuple == nil {
		return "this piton is built without what reads whether there are filters"
	}
	for _, nic := range s.nics {
		if nic.Driver == "" {
			return nic.Name + " is a virtual interface: it has no filters"
		}
		switch has, err := s.Ntuple(nic.Name); {
		case err != nil:
			return fmt.Sprintf("whether %s has filters cannot be read: %v", nic.Name, err)
		case !has.Has && !has.On:
			return nic.Name + " has no filters (ethtool -k: rx-ntuple-filter)"
		case !has.On:
			return fmt.Sprintf("the filters of %s are off; ethtool -K %s ntuple on switches them on", nic.Name, nic.Name)
		}
	}
	return s.noRFS()
}

// noRFS says why RFS cannot be used.
func (s *waySearch) noRFS() string {
	if s.fs.FlowEntries() < 0 {
		return "its table, rps_sock_flow_entries, exists only in the initial network namespace, and in kernels with RPS"
	}
	return s.lacking("rps_flow_cnt", func(q irq.RxQueue) bool { return q.Flows >= 0 })
}

// noPrograms says why programs cannot steer: the kernel has RPS and RFS move also what they have
// handed to a CPU.
func (s *waySearch) noPrograms(w Way) string {
	for _, nic := range s.nics {
		for _, q := range nic.Rx {
			if !q.RPS.Empty() {
				return fmt.Sprintf("RPS of %s rx-%d would move the packets on, to %s; piton irq queues %s --rps off switches it off", nic.Name, q.Index, q.RPS.InWords(), nic.Name)
			}
			if s.Policy != PolicyCurrent && q.Flows > 0 && s.fs.FlowEntries() > 0 {
				return fmt.Sprintf("RFS of %s rx-%d would move the packets on, to their readers; piton irq queues %s --rps-flows 0 switches it off", nic.Name, q.Index, nic.Name)
			}
		}
	}
	return s.noHook(w)
}

func (s *waySearch) noRPS() string {
	return s.lacking("rps_cpus", func(q irq.RxQueue) bool { return q.RPS.OK })
}

// lacking says which interface lacks a setting of its receive queues.
func (s *waySearch) lacking(setting string, has func(irq.RxQueue) bool) string {
	for _, nic := range s.nics {
		if len(nic.Rx) == 0 {
			return nic.Name + " has no receive queue"
		}
		for _, q := range nic.Rx {
			if !has(q) {
				return fmt.Sprintf("%s rx-%d has no %s", nic.Name, q.Index, setting)
			}
		}
	}
	return ""
}

// noIRQ says why the queues' interrupts cannot be moved, and finds them.
func (s *waySearch) noIRQ() string {
	for _, nic := range s.nics {
		if nic.Driver == "" {
			return nic.Name + " is a virtual interface: it has no interrupts"
		}
		for _, q := range nic.Rx {
			if s.Table == nil {
				return "the interrupts could not be read"
			}
			line := s.Table.QueueIRQ(nic.Name, true, q.Index)
			switch {
			case line == nil:
				return fmt.Sprintf("no interrupt is known to be of %s rx-%d", nic.Name, q.Index)
			case !line.CanMove():
				return fmt.Sprintf("%s: %s", line.Title(), line.Control.Why())
			case !slices.Contains(s.lines, line):
				s.lines = append(s.lines, line)
			}
		}
	}
	return ""
}

// setRFS switches RFS on where it is off; a table that is there is left as large as it is.
func (s *waySearch) setRFS(cpuset.Set) []change.Request {
	var out []change.Request
	size := s.fs.FlowEntries()
	if size == 0 {
		size = rfsEntries
		out = SetQueues(nil, QueueSettings{Entries: &size})
	}
	for _, nic := range s.nics {
		if slices.ContainsFunc(nic.Rx, func(q irq.RxQueue) bool { return q.Flows == 0 }) {
			flows := max(size/len(nic.Rx), 1)
			out = append(out, SetQueues([]irq.NIC{nic}, QueueSettings{Flows: &flows})...)
		}
	}
	return out
}
