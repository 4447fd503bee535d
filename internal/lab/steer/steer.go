// Package steer hands the packets of chosen processes to the CPU that a policy names,
// before the network stack works on them: XDP and a map of CPUs (CPUMAP). It chooses
// nothing by itself. What it has in the kernel goes with Steering.Close, or with this
// process, however that ends. Start at Open.
package steer

import (
	_ "embed" // the object
	"fmt"
	"structs"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

//go:embed steer_bpfel.o
var steerObject []byte

const steerName = "steering of packets"

// Programs are the names of this package's programs.
var Programs = map[ebpf.ProgramType][]string{
	ebpf.XDP:     {"steer_packet"},
	ebpf.Tracing: {"steer_read", "steer_send", "steer_enqueue"},
	ebpf.Kprobe:  {"steer_recvmsg", "steer_sendmsg"},
}

// Policy says which CPU is to work on the packets of a flow. A flow is known from the first
// time that a target reads or writes it after Open.
type Policy uint32

// The policies: the enum of c/steer.c.
const (
	Pass     Policy = iota // no other: shows what a program costs that only passes
	Current                // where the thread that reads the flow runs, or ran last
	Request                // where a target wrote to the flow last
	Chosen                 // of those that SetChoice gave: least-loaded, dedicated
	Apart                  // of Options.Apart, for the CPU that Current would name
	Hint                   // the one in the TCP option of lab/hint; targets do not count
	HintByIP               // the one in its option of IPv4
)

// Options says what to steer.
type Options struct {
	Interfaces []int // by their indices in the calling thread's network namespace
	Policy     Policy
	// CPUs may get packets; flows that the policy wants elsewhere go their own way. With
	// Chosen they are the first choice, too.
	CPUs    cpuset.Set
	Apart   map[cpuset.CPU]cpuset.CPU
	Targets []kernel.TID // processes, or threads
	Mode    Mode
}

// QueueLength is how many packets may wait for a CPU; more are dropped.
const QueueLength = 2048

// Steering is in force until Close, after which packets that wait in a queue still arrive.
// Safe for concurrent use.
type Steering struct {
	object.Object
	// Interfaces are those that are steered.
	Interfaces []Interface
	// Partial says what cannot be steered on this kernel, a phrase; "" for nothing.
	Partial string

	targets  object.TargetSet
	attached []link.Link // to each of Interfaces
}

// Stats are packets since Open.
type Stats struct {
	Redirected uint64 // to another CPU
	Stayed     uint64 // were on the right CPU
	Passed     uint64 // of other flows, or of flows for which the policy names no CPU
	Dropped    uint64 // of the redirected, as a CPU's queue was full
}

type packetCounts struct { // struct packets of c/steer.c
	_                          structs.HostLayout
	Redirected, Stayed, Passed uint64
}

// Stats counts the packets. An interface that is gone is an error that says so.
func (s *Steering) Stats() (stats Stats, err error) {
	err = s.Use(func() error {
		var perCPU []packetCounts
		if err := s.Objects.Maps["counts"].Lookup(uint32(0), &perCPU); err != nil {
			return err
		}
		for _, c := range perCPU {
			stats.Redirected += c.Redirected
			stats.Stayed += c.Stayed
			stats.Passed += c.Passed
		}
		return s.Objects.Variables["dropped"].Get(&stats.Dropped)
	})
	if err != nil {
		return stats, err
	}
	return stats, s.gone()
}

// SetTargets replaces the targets. Flows of former targets stay known.
func (s *Steering) SetTargets(ids ...kernel.TID) error {
	return s.Use(func() error { return s.targets.Set(ids) })
}

// SetChoice replaces the CPUs of Chosen, over which flows are spread. They are some of
// Options.CPUs.
func (s *Steering) SetChoice(cpus cpuset.Set) error {
	return s.Use(func() error { return s.setChoice(cpus) })
}

func (s *Steering) setChoice(cpus cpuset.Set) error {
	for i, cpu := range cpus.CPUs() {
		if err := s.Objects.Maps["choices"].Put(uint32(i), uint32(cpu)); err != nil {
			return err
		}
	}
	return s.Objects.Variables["chosen"].Set(uint32(cpus.Len()))
}

func (s *Steering) fill(o Options) error {
	for cpu := range o.CPUs.All() {
		if err := s.Objects.Maps["cpus"].Put(uint32(cpu), uint32(QueueLength)); err != nil {
			return fmt.Errorf("queue of CPU %d: %w", cpu, err)
		}
	}
	info, err := s.Objects.Maps["cpus"].Info()
	if err != nil {
		return err
	}
	id, _ := info.ID()
	if err := s.Objects.Variables["cpus_id"].Set(uint32(id)); err != nil {
		return err
	}
	switch o.Policy {
	case Chosen:
		err = s.setChoice(o.CPUs)
	case Apart:
		err = s.setApart(o.Apart)
	}
	if err != nil {
		return err
	}
	return s.targets.Set(o.Targets)
}

func (s *Steering) setApart(table map[cpuset.CPU]cpuset.CPU) error {
	choices := s.Objects.Maps["choices"]
	for cpu := range choices.MaxEntries() {
		to, ok := table[cpuset.CPU(cpu)]
		if !ok {
			to = cpuset.CPU(cpu)
		}
		if err := choices.Put(cpu, uint32(to)); err != nil {
			return err
		}
	}
	return nil
}
