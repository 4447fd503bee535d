package study

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"piton/internal/bench/runner"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/lab/hint"
	"piton/internal/lab/netns"
	"piton/internal/lab/steer"
	"piton/internal/lab/stripnet"
	"piton/internal/procfs"
)

// deliveryArm is a way in which packets are brought to the CPU that processes them.
type deliveryArm struct {
	name    string
	meaning string // which CPU that is
	on      putOn
}

// putOn puts an arm in force in a network that has no connection at the moment, until off, which
// may be nil with an error. Where the machine cannot do it, the error says why, and the other arms
// are compared.
type putOn func(ctx context.Context, d *delivery) (off func() error, err error)

// delivery is what arms act on.
type delivery struct {
	net  *stripnet.Network
	cpus []cpuset.CPU // that may process packets
	// rfs sets the size of the flow table of all interfaces, to that of an arm or to what was
	// there before. The table is the machine's: it goes through the change path.
	rfs func(on bool) error
	// started, if an arm has set it, is told the clients of a period before they read.
	started func(clients []kernel.TID) error
}

// The arms. "rps-" are made with the kernel's own RPS, those from "xdp-pass" on with XDP.
var deliveryArms = []deliveryArm{
	{"default", "the kernel's own: where the packet comes in; over a veth, the CPU that sends",
		func(context.Context, *delivery) (func() error, error) { return nothing, nil }},
	{"rfs", "RFS: the CPU where the connection was last read or written (the study's current core)", rfsOn},
	{"fixed", "RPS to one CPU for each interface, as irqbalance distributes interrupts",
		rps(func(d *delivery, i int) cpuset.Set { return cpuset.Of(d.cpus[i%len(d.cpus)]) })},
	{"rps-hash", "RPS to all CPUs, by a hash of the connection",
		rps(func(d *delivery, _ int) cpuset.Set { return cpuset.Of(d.cpus...) })},
	{"rps-least-loaded", "RPS to the CPU that was least busy, chosen every 50 ms (the study's least-loaded core)", rpsLeastLoadedOn},
	{"rps-dedicated", "RPS to one CPU for all interfaces (the study's dedicated core)",
		rps(func(d *delivery, _ int) cpuset.Set { return cpuset.Of(d.cpus[len(d.cpus)-1]) })},
	{"xdp-pass", "as default, by XDP that only passes: what a program costs", xdp(steer.Pass)},
	{"request", "XDP to the CPU where the request was written (the study's request core)", xdp(steer.Request)},
	{"current", "XDP to the CPU where the reader runs, or ran last (the study's current core)", xdp(steer.Current)},
	{"least-loaded", "XDP to the CPU that was least busy, chosen every 50 ms (the study's least-loaded core)", xdpLeastLoadedOn},
	{"dedicated", "XDP to one CPU for all interfaces (the study's dedicated core)", xdpDedicatedOn},
	{"apart", "XDP to the CPU after the one where the reader runs", xdp(steer.Apart)},
	{"hint", "the study's own way: the requests carry the CPU of their client in a TCP option, the server's side sends it back, XDP steers by it", hintOn},
}

func nothing() error { return nil }

// rps has CPUs process what an interface receives.
func rps(of func(d *delivery, i int) cpuset.Set) putOn {
	return func(_ context.Context, d *delivery) (func() error, error) {
		return d.rpsOff, d.queues("rps_cpus", func(i int) string { return of(d, i).Mask() })
	}
}

func (d *delivery) rpsOff() error { return d.queues("rps_cpus", func(int) string { return "0" }) }

func (d *delivery) queues(file string, text func(i int) string) error {
	var all error
	for i, name := range d.net.Interfaces {
		all = errors.Join(all, d.net.Client.WriteSetting(name+"/queues/rx-0/"+file, text(i)))
	}
	return all
}

// rfsFlows is the size of RFS's table, far above the connections that there are.
const rfsFlows = 32768

func rfsOn(_ context.Context, d *delivery) (func() error, error) {
	if err := d.rfs(true); err != nil {
		return nil, err
	}
	off := func() error {
		return errors.Join(d.queues("rps_flow_cnt", func(int) string { return "0" }), d.rfs(false))
	}
	err := d.queues("rps_flow_cnt", func(int) string { return fmt.Sprint(rfsFlows / len(d.net.Interfaces)) })
	return off, err
}

// leastLoadedEvery is how often the least-loaded CPU is chosen: some ticks of /proc/stat.
const leastLoadedEvery = 50 * time.Millisecond

func rpsLeastLoadedOn(ctx context.Context, d *delivery) (func() error, error) {
	put := func(cpu cpuset.CPU) error {
		return d.queues("rps_cpus", func(int) string { return cpuset.Of(cpu).Mask() })
	}
	return followLeastLoaded(ctx, d.cpus, put, d.rpsOff)
}

// followLeastLoaded puts the least busy CPU in force again and again, until off.
func followLeastLoaded(ctx context.Context, cpus []cpuset.CPU, put func(cpuset.CPU) error, off func() error) (func() error, error) {
	if err := put(cpus[0]); err != nil {
		return off, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { defer crash.Handle(); ended <- chooseLeastLoaded(ctx, cpus, put) }()
	return func() error {
		stop()
		return errors.Join(<-ended, off())
	}, nil
}

func chooseLeastLoaded(ctx context.Context, cpus []cpuset.CPU, put func(cpuset.CPU) error) error {
	var before procfs.Counters
	chosen := 0
	for runner.Pause(ctx, leastLoadedEvery) == nil {
		now, err := procfs.New("/").Counters()
		if err != nil {
			return err
		}
		chosen = mostIdle(cpus, before, now, chosen)
		before = now
		if err := put(cpus[chosen]); err != nil {
			return err
		}
	}
	return nil
}

// mostIdle is the CPU, by its place in cpus, that idled most between two readings; the one
// that was chosen before where none idled more.
func mostIdle(cpus []cpuset.CPU, before, now procfs.Counters, chosen int) int {
	idle := map[cpuset.CPU]int64{}
	for _, c := range now.CPUs {
		idle[c.CPU] += int64(c.Idle + c.IOWait)
	}
	for _, c := range before.CPUs {
		idle[c.CPU] -= int64(c.Idle + c.IOWait)
	}
	for i, c := range cpus {
		if idle[c] > idle[cpus[chosen]] {
			chosen = i
		}
	}
	return chosen
}

// xdp is a policy of the study made with XDP and a map of CPUs. It follows the clients of
// each period from their start.
func xdp(policy steer.Policy) putOn {
	return func(_ context.Context, d *delivery) (func() error, error) {
		_, off, err := d.steer(steer.Options{Policy: policy})
		return off, err
	}
}

// steer begins to steer the clients' packets on all interfaces. There is an off with an error too.
func (d *delivery) steer(o steer.Options) (s *steer.Steering, off func() error, err error) {
	o.CPUs, o.Apart = cpuset.Of(d.cpus...), map[cpuset.CPU]cpuset.CPU{}
	for i, cpu := range d.cpus {
		o.Apart[cpu] = d.cpus[(i+1)%len(d.cpus)]
	}
	for _, name := range d.net.Interfaces {
		index, err := d.net.Client.InterfaceIndex(name)
		if err != nil {
			return nil, nothing, err
		}
		o.Interfaces = append(o.Interfaces, index)
	}
	err = d.net.Client.Do(func() (err error) {
		s, err = steer.Open(o)
		return err
	})
	if err != nil {
		return nil, nothing, err
	}
	d.started = func(clients []kernel.TID) error { return s.SetTargets(clients...) }
	return s, func() error {
		d.started = nil
		s.Close()
		return nil
	}, nil
}

func xdpDedicatedOn(_ context.Context, d *delivery) (func() error, error) {
	s, off, err := d.steer(steer.Options{Policy: steer.Chosen})
	if err == nil {
		err = s.SetChoice(cpuset.Of(d.cpus[len(d.cpus)-1]))
	}
	return off, err
}

func xdpLeastLoadedOn(ctx context.Context, d *delivery) (func() error, error) {
	s, off, err := d.steer(steer.Options{Policy: steer.Chosen})
	if err != nil {
		return off, err
	}
	return followLeastLoaded(ctx, d.cpus, func(cpu cpuset.CPU) error { return s.SetChoice(cpuset.Of(cpu)) }, off)
}

// hintOn has the clients' CPUs travel with their connections, which this process makes.
func hintOn(_ context.Context, d *delivery) (func() error, error) {
	cgroup, err := procfs.New("/").UnifiedCgroup()
	if err != nil {
		return nil, err
	}
	answers, err := hint.Serve(hint.Options{Cgroup: cgroup})
	if err != nil {
		return nil, err
	}
	asks, err := hint.Attach(hint.Options{Cgroup: cgroup, Targets: []kernel.TID{kernel.TID(os.Getpid())}})
	if err != nil {
		answers.Close()
		return nil, err
	}
	_, off, err := d.steer(steer.Options{Policy: steer.Hint})
	return func() error {
		defer answers.Close()
		defer asks.Close()
		return off()
	}, err
}

func explainNetwork(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: network namespaces take CAP_SYS_ADMIN and CAP_NET_ADMIN (%w); run piton with sudo", attr.ErrNotPermitted, err)
	case netns.IsNoVeth(err), errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: the kernel has no virtual Ethernet interfaces (CONFIG_VETH): %w", attr.ErrNotSupported, err)
	}
	return err
}
