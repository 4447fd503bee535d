// Package stripnet is the traffic of the study of source-aware interrupts (SAIs, 2011) over
// the real network stack: servers in network namespaces of their own send strips of 64 KiB
// by TCP, and client processes, which the scheduler may move, read them from all servers and
// merge them to transfers of 1 MiB.
//
// A Network is the servers' namespaces, each joined with the clients' one by a wire that is
// set up like a network card's. Measure makes one period of traffic in it. How packets are
// delivered meanwhile is the caller's affair: it writes the files of Network.Client, or
// attaches to Network.Interfaces there. Nothing is left of any of it when the process ends.
// Start at New.
package stripnet

import (
	"time"

	"piton/internal/kernel"
	"piton/workloads/stripio"
	"piton/workloads/workload"
)

// The sizes of the study, in bytes.
const (
	StripBytes    = stripio.StripBytes
	TransferBytes = stripio.TransferBytes
	perTransfer   = TransferBytes / StripBytes
)

// MaxServers is a server for each strip of a transfer.
const MaxServers = perTransfer

// MaxClients bounds Load.Clients.
const MaxClients = 64

// Load is the traffic of a period.
type Load struct {
	Clients int // processes, 1..MaxClients
	// PaceMBs is what all clients together ask for, in MB/s; 0 is as much as they can get.
	PaceMBs int
	Settle  time.Duration // before what is measured
	Period  time.Duration // that is measured
	// Started, if not nil, is told the client processes before they read anything.
	Started func(clients []kernel.TID) error
}

// Reading is what came of a period.
type Reading struct {
	Seconds   float64 `json:"seconds"`
	Transfers int     `json:"transfers"`
	MBs       float64 `json:"mb_per_second"`
	// CPUNsPerKB is the time that all CPUs of the machine were busy, for 1000 bytes.
	CPUNsPerKB float64 `json:"cpu_ns_per_kb"`
	P50        float64 `json:"p50_us"` // of a transfer, from its request until it is merged
	P99        float64 `json:"p99_us"`
	// SameCPU is the share of the bytes that were read on the CPU that had processed their
	// packets, by SO_INCOMING_CPU after each read.
	SameCPU float64 `json:"share_same_cpu"`
	// Migrations are those of the threads that read; HaveMigrations is false where the kernel
	// does not count them.
	Migrations     uint64 `json:"migrations"`
	HaveMigrations bool   `json:"have_migrations"`
	// Misses are the last-level cache's of the threads that read; nil where they cannot be
	// counted, for the reason in MissesWhy.
	Misses    *uint64 `json:"cache_misses,omitempty"`
	MissesWhy string  `json:"cache_misses_why,omitempty"`
}

// Workload has the processes of the network, and the words for a study of it; it is not run
// by itself, since how packets are delivered is what its study compares.
var Workload = workload.Workload{
	Name:   "stripnet",
	Help:   "merge strips from servers in network namespaces",
	Metric: workload.Metric{Name: "bandwidth", Unit: "MB/s", HigherIsBetter: true},
	Params: []workload.Param{
		{Name: "servers", Help: "servers, each in a network namespace", Default: "4", Min: 1, Max: MaxServers},
		{Name: "clients", Help: "client processes", Default: "2", Min: 1, Max: MaxClients},
		{Name: "pace", Help: "MB/s that the clients ask for together; 0 = as much as they can get", Default: "0", Min: 0, Max: 1 << 20},
	},
	Process: runProcess,
}
