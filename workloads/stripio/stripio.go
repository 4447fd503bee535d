// Package stripio is the RAM-disk simulation of the study of source-aware
// interrupts (SAIs, 2011): strips of 64 KB are read from files in memory, as a
// network card's interrupt would bring them, and merged into transfers of 1 MB
// by who asked for them. Reader and merger are two threads of one process, or
// two processes; on one CPU, as source-aware delivery would have it, or on two.
//
// Beside what it measures it puts the study's cost model (Predict), with the
// costs that it measures on this machine. The mapping is its own subject, so it
// sets affinities when asked to. Start at Run;
// runProcess is the other end.
package stripio

import (
	"fmt"

	"piton/internal/kernel"
)

// The sizes of the study, in bytes.
const (
	StripBytes    = 64 << 10
	TransferBytes = 1 << 20
	perTransfer   = TransferBytes / StripBytes
	// diskBytes is what all files hold together: more than most last-level caches,
	// and little enough for any machine.
	diskBytes = 64 << 20
)

// Limits of Options.
const (
	MaxApps  = 128
	MaxFiles = 64
	MaxMiB   = 1 << 20
)

// Mode says what a reader and its merger are.
type Mode string

// The modes.
const (
	Threads   Mode = "threads"   // two threads of one process: Si-SAIs
	Processes Mode = "processes" // two processes: Si-Irqbalance
)

// Modes lists them.
var Modes = []Mode{Threads, Processes}

// Mapping says which CPUs reader and merger are on.
type Mapping string

// The mappings.
const (
	ByKernel Mapping = "kernel" // the kernel chooses
	Source   Mapping = "source" // both on one CPU, each application on another, round robin
	Apart    Mapping = "apart"  // on two CPUs, one after the other
)

// Mappings lists them.
var Mappings = []Mapping{ByKernel, Source, Apart}

// Options is the work to do.
type Options struct {
	Apps    int     `json:"apps"`  // that read at once, 1..MaxApps
	Files   int     `json:"files"` // that strips come from in turn, the study's servers; 1..MaxFiles
	MiB     int     `json:"mib"`   // that each application reads, 1..MaxMiB
	Mode    Mode    `json:"mode"`
	Mapping Mapping `json:"mapping"`

	// Command starts a process that does runProcess; nothing is appended.
	Command []string `json:"-"`
	// Scheduler tells and sets the CPUs.
	Scheduler kernel.Own `json:"-"`
	// AvailableBytes is the memory that may be used, 0 if that is not known.
	AvailableBytes int64 `json:"-"`
}

// processBytes is what a process takes beside its share of the files, about.
const processBytes = 24 << 20

// Validate says in one sentence what is wrong with the options together. The limits
// of each are checked before, by workload.Param.
func (o Options) Validate() error {
	processes := int64(o.Apps)
	if o.Mode == Processes {
		processes *= 2
	}
	if need := diskBytes + processes*processBytes; o.AvailableBytes > 0 && need > o.AvailableBytes/2 {
		return fmt.Errorf("%d applications need about %d MiB, which is more than half of the %d MiB that are available", o.Apps, need>>20, o.AvailableBytes>>20)
	}
	return nil
}

// Result is what came out.
type Result struct {
	Options
	Transfers int     `json:"transfers"` // of 1 MB, by all applications
	Checksum  uint64  `json:"checksum,string"`
	Seconds   float64 `json:"seconds"` // from the first strip to the last transfer
	MBs       float64 `json:"mb_per_second"`
	// CPUPercent is of all CPUs that may be used, as in the study.
	CPUPercent  float64 `json:"cpu_percent"`
	Voluntary   uint64  `json:"voluntary_switches"`
	Involuntary uint64  `json:"involuntary_switches"`
	// Misses are the last-level cache's, of all readers and mergers; nil where they
	// cannot be counted, for the reason in MissesWhy.
	Misses    *uint64 `json:"cache_misses,omitempty"`
	MissesWhy string  `json:"cache_misses_why,omitempty"`
	// Model is what the study's model says of this machine and these options; nil
	// where its costs cannot be measured, for the reason in ModelWhy.
	Model    *Model `json:"model,omitempty"`
	ModelWhy string `json:"model_why,omitempty"`
}

// Model is the study's model with the costs measured here.
type Model struct {
	Costs
	Shape
	Prediction
	// MostRequests is how many requests a second the measured bandwidth lets
	// through.
	MostRequests float64 `json:"most_requests_per_second"`
}

// Answer is count and checksum in one word.
func (r Result) Answer() string { return fmt.Sprintf("%d/%016x", r.Transfers, r.Checksum) }
