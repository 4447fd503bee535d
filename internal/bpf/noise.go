package bpf

import (
	"bytes"
	"errors"
	"os"
	"structs"
	"time"

	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// NoiseKind is what an Interruption was by.
type NoiseKind uint32

// The kinds.
const (
	NoiseTask NoiseKind = iota
	NoiseIRQ
	NoiseSoftIRQ
	NoiseVector // an interrupt that CPUs send themselves and each other
	NoiseNMI
)

// Interruption is what came between a process and its CPU.
type Interruption struct {
	Start, Length time.Duration // CLOCK_MONOTONIC
	CPU           cpuset.CPU
	Kind          NoiseKind
	ID            int    // tid, interrupt line, softirq or vector of the CPU
	Flags         uint32 // of a task, PF_* of include/linux/sched.h
	Comm          string // of a task
}

// Noise reports what interrupts one process on chosen CPUs. One goroutine may use it.
type Noise struct {
	object.Object
	cpus cpuset.Set
	own  kernel.TID
}

type noiseEvent struct { // struct event of c/noise.c
	_             structs.HostLayout
	Start, Ns     uint64
	CPU, Kind, ID uint32
	Flags         uint32
	Comm          [16]byte
}

type cpuNoise struct { // struct cpu_noise of c/noise.c
	_       structs.HostLayout
	Watched uint64
	Since   [5]uint64
}

// noiseBytes is a ring for 18,000 events, which is read every 100 ms.
const noiseBytes = 1 << 20

// vectors are the tracepoints of the interrupts that CPUs send themselves and each other; a kernel
// has some of them.
var vectors = []string{
	"local_timer", "reschedule", "call_function", "call_function_single", "irq_work", "x86_platform_ipi", "spurious_apic", "error_apic",
	"thermal_apic", "threshold_apic", "deferred_error_apic", "ipi",
}

// OpenNoise begins to report what interrupts a process on the CPUs. An error that Is
// feature.ErrNotSupported says what is missing.
func OpenNoise(own kernel.TID, cpus cpuset.Set) (*Noise, error) {
	n := &Noise{cpus: cpus, own: own}
	s := object.Subject{What: "interruptions", Compiled: noiseObject, Room: noiseBytes,
		Programs: []string{"noise_switch", "noise_irq", "noise_irq_done", "noise_softirq", "noise_soft_done"}}
	return opened(n, n.Open(s, n.begin))
}

func (n *Noise) begin() error {
	if err := n.Objects.Variables["own"].Set(uint32(n.own)); err != nil {
		return err
	}
	for cpu := range n.cpus.All() {
		if err := n.Objects.Maps["cpus"].Put(uint32(cpu), cpuNoise{Watched: 1}); err != nil {
			return err
		}
	}
	if err := n.hook("nmi_handler", "noise_nmi"); err != nil {
		return err
	}
	for _, name := range vectors {
		if err := errors.Join(n.hook(name+"_exit", "noise_vector_done"), n.hook(name+"_entry", "noise_vector")); err != nil {
			return err
		}
	}
	return nil
}

// hook hooks a program to a tracepoint that the kernel may lack.
func (n *Noise) hook(tracepoint, program string) error {
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: tracepoint, Program: n.Objects.Programs[program]})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	n.Links = append(n.Links, l)
	return nil
}

// Read appends the interruptions that have ended since the last call, by CPU in the order of their
// ends. lost is how many found the ring full.
func (n *Noise) Read(into []Interruption) (out []Interruption, lost uint64, err error) {
	out = into
	err = n.Use(func() error {
		for n.Ring.AvailableBytes() > 0 {
			record, err := n.Ring.Read()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return err
			}
			var e noiseEvent
			copy(object.BytesOf(&e), record.RawSample)
			name, _, _ := bytes.Cut(e.Comm[:], []byte{0})
			out = append(out, Interruption{
				Start: time.Duration(e.Start), Length: time.Duration(e.Ns), CPU: cpuset.CPU(e.CPU), Kind: NoiseKind(e.Kind),
				ID: int(int32(e.ID)), Flags: e.Flags, Comm: string(name),
			})
		}
		lost, err = n.LostSince("lost", 0)
		return err
	})
	return out, lost, err
}
