package paper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"piton/internal/bpf/steer"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/crash"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/kernel/netns"
	"piton/internal/procfs"
	"piton/workloads/stripnet"
)

// DeliveryArm is a way in which packets are brought to the CPU that processes them.
type DeliveryArm struct {
	Name string
	// On puts it in force in a network that has no connection at the moment, until off. Where
	// the machine cannot do it, the error says why, and the other arms are compared.
	On func(ctx context.Context, d *Delivery) (off func() error, err error)
}

// Delivery is what arms act on.
type Delivery struct {
	Net  *stripnet.Network
	CPUs []cpuset.CPU // that may process packets
	// RFS sets the size of the flow table of all interfaces, to that of an arm or to what was
	// there before. The table is the machine's: it goes through the change path.
	RFS func(on bool) error
	// Started, if an arm has set it, is told the clients of a period before they read.
	Started func(clients []kernel.TID) error
}

// The arms. "rps-" are made with the kernel's own RPS, those from "xdp-pass" on with XDP.
var deliveryArms = []DeliveryArm{
	{"default", func(context.Context, *Delivery) (func() error, error) { return nothing, nil }},
	{"rfs", rfsOn},
	{"fixed", func(_ context.Context, d *Delivery) (func() error, error) {
		return d.rps(func(i int) []cpuset.CPU { return d.CPUs[i%len(d.CPUs) : i%len(d.CPUs)+1] })
	}},
	{"rps-hash", func(_ context.Context, d *Delivery) (func() error, error) {
		return d.rps(func(int) []cpuset.CPU { return d.CPUs })
	}},
	{"rps-least-loaded", rpsLeastLoadedOn},
	{"rps-dedicated", func(_ context.Context, d *Delivery) (func() error, error) {
		return d.rps(func(int) []cpuset.CPU { return d.CPUs[len(d.CPUs)-1:] })
	}},
	xdpArm("xdp-pass", steer.Pass),
	xdpArm("request", steer.Request),
	xdpArm("current", steer.Current),
	{"least-loaded", xdpLeastLoadedOn},
	{"dedicated", xdpDedicatedOn},
	xdpArm("apart", steer.Apart),
	{"hint", hintOn},
}

// deliveryMeanings are the arms in words.
var deliveryMeanings = map[string]string{
	"hint":             "the study's own way: the requests carry the CPU of their client in a TCP option, the server's side sends it back, XDP steers by it",
	"default":          "the kernel's own: where the packet comes in; over a veth, the CPU that sends",
	"rfs":              "RFS: the CPU where the connection was last read or written (the study's current core)",
	"fixed":            "RPS to one CPU for each interface, as irqbalance distributes interrupts",
	"rps-hash":         "RPS to all CPUs, by a hash of the connection",
	"rps-least-loaded": "RPS to the CPU that was least busy, chosen every 50 ms (the study's least-loaded core)",
	"rps-dedicated":    "RPS to one CPU for all interfaces (the study's dedicated core)",
	"xdp-pass":         "as default, by XDP that only passes: what a program costs",
	"request":          "XDP to the CPU where the request was written (the study's request core)",
	"current":          "XDP to the CPU where the reader runs, or ran last (the study's current core)",
	"least-loaded":     "XDP to the CPU that was least busy, chosen every 50 ms (the study's least-loaded core)",
	"dedicated":        "XDP to one CPU for all interfaces (the study's dedicated core)",
	"apart":            "XDP to the CPU after the one where the reader runs",
}

func nothing() error { return nil }

// rps gives each interface CPUs that process what it receives.
func (d *Delivery) rps(of func(i int) []cpuset.CPU) (off func() error, err error) {
	off = func() error { return d.queues("rps_cpus", func(int) string { return "0" }) }
	err = d.queues("rps_cpus", func(i int) string { return cpuset.Of(of(i)...).Mask() })
	return off, err
}

// queues writes a file of the one receive queue of each interface.
func (d *Delivery) queues(file string, text func(i int) string) error {
	var all error
	for i, name := range d.Net.Interfaces {
		all = errors.Join(all, d.Net.Client.WriteSetting(name+"/queues/rx-0/"+file, text(i)))
	}
	return all
}

// rfsFlows is the size of RFS's table, far above the connections that there are.
const rfsFlows = 32768

func rfsOn(_ context.Context, d *Delivery) (func() error, error) {
	if err := d.RFS(true); err != nil {
		return nil, err
	}
	off := func() error {
		return errors.Join(d.queues("rps_flow_cnt", func(int) string { return "0" }), d.RFS(false))
	}
	err := d.queues("rps_flow_cnt", func(int) string { return fmt.Sprint(rfsFlows / len(d.Net.Interfaces)) })
	return off, err
}

// leastLoadedEvery is how often the least-loaded CPU is chosen: some ticks of /proc/stat.
const leastLoadedEvery = 50 * time.Millisecond

func rpsLeastLoadedOn(ctx context.Context, d *Delivery) (func() error, error) {
	put := func(cpu cpuset.CPU) error {
		return d.queues("rps_cpus", func(int) string { return cpuset.Of(cpu).Mask() })
	}
	return followLeastLoaded(ctx, d.CPUs, put, func() error { return d.queues("rps_cpus", func(int) string { return "0" }) })
}

// followLeastLoaded puts the least busy CPU in force again and again, until off.
func followLeastLoaded(ctx context.Context, cpus []cpuset.CPU, put func(cpuset.CPU) error, off func() error) (func() error, error) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	all := func() error {
		stop()
		return errors.Join(<-ended, off())
	}
	if err := put(cpus[0]); err != nil {
		ended <- nil
		return all, err
	}
	go func() { defer crash.Handle(); ended <- chooseLeastLoaded(ctx, cpus, put) }()
	return all, nil
}

func chooseLeastLoaded(ctx context.Context, cpus []cpuset.CPU, put func(cpuset.CPU) error) error {
	var before procfs.Counters
	chosen := 0
	tick := time.NewTicker(leastLoadedEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
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

// flowTable plans the trial of RFS's table. The plan is without one where the table is there
// already: then nothing is changed.
func flowTable(ctx context.Context, t *change.Tuner, try func(context.Context, change.SetCandidate) error) (change.Plan, error) {
	file := attr.SetFile(attr.RFSEntries, irq.FlowEntriesFile, "net.core.rps_sock_flow_entries", attr.Count(rfsFlows))
	return t.PlanTrial(ctx, [][]change.Request{{{Files: []attr.FileSetting{file}, Reason: "tried by bench paper sais"}}}, try)
}

// explainNetwork says what a network takes.
func explainNetwork(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: network namespaces take CAP_SYS_ADMIN and CAP_NET_ADMIN (%w); run piton with sudo", attr.ErrNotPermitted, err)
	case netns.IsNoVeth(err), errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: the kernel has no virtual Ethernet interfaces (CONFIG_VETH): %w", attr.ErrNotSupported, err)
	}
	return err
}
