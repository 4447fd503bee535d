// Package chat is the chat-room benchmark of the thread-aggregation study
// (Yamada & Kusakabe): in each room every member says something and everybody
// in the room hears it, over TCP on the loopback interface in messages of 100
// bytes. Client and server are processes, and each has two threads a member.
//
// How threads that share an address space are run is its own subject, so it
// sets affinities, slices and policies when asked to. Start at Run;
// runProcess is the other end, in the clients and servers.
package chat

import (
	"fmt"

	"piton/internal/kernel"
)

// The shape of a room and a message, as in the study.
const (
	Members      = 20
	MessageBytes = 100
	threadsEach  = 2 // one speaks, one listens; and so on the server's side
)

// Limits of Options.
const (
	MaxRooms    = 50 // 2000 threads in each process
	MaxMessages = 100_000
	MaxPairs    = 32
)

// Mapping says how threads are put on CPUs, or one after another.
type Mapping string

// The mappings.
const (
	ByKernel  Mapping = "kernel"    // the kernel does
	Pack      Mapping = "pack"      // each process, which is an address space, on one CPU, round robin
	Pair      Mapping = "pair"      // each client with its server on one CPU, round robin
	Spread    Mapping = "spread"    // each thread on one CPU, round robin
	Slices    Mapping = "slices"    // the kernel chooses CPUs, but threads have long slices
	Aggregate Mapping = "aggregate" // threads of one address space run one after another by sched_ext; without it, long slices
)

// Mappings lists them.
var Mappings = []Mapping{ByKernel, Pack, Pair, Spread, Slices, Aggregate}

// LongSlice is the slice of threads under Slices, in ns: the most that Linux
// takes (EEVDF, since 6.12).
const LongSlice = 100_000_000

// Options is the work to do.
type Options struct {
	Rooms    int     `json:"rooms"`    // of 20 members, 1..MaxRooms
	Messages int     `json:"messages"` // that each member says, 1..MaxMessages
	Pairs    int     `json:"pairs"`    // of a client and a server, which share out the rooms; 1..MaxPairs and at most one a room
	Mapping  Mapping `json:"mapping"`

	// Command starts a process that does runProcess; nothing is appended.
	Command []string `json:"-"`
	// Scheduler tells the CPUs to deal out.
	Scheduler kernel.Scheduler `json:"-"`
	// Aggregator puts a scheduler in force, under which threads of policy kernel.Ext run
	// by address spaces. Its error says in one sentence why there is none here. End takes
	// it away and returns what it counted, JSON-taggable; an error if it was not in force
	// to the end.
	Aggregator func() (end func() (counted any, err error), err error) `json:"-"`
}

// Validate says in one sentence what is wrong with the options together. The limits
// of each are checked before, by workload.Param.
func (o Options) Validate() error {
	if o.Pairs > o.Rooms {
		return fmt.Errorf("%d pairs of client and server are more than the %d rooms to share out", o.Pairs, o.Rooms)
	}
	return nil
}

// Result is what came out.
type Result struct {
	Options
	Heard    uint64  `json:"heard"`           // messages that arrived, each once for every member of its room
	Checksum uint64  `json:"checksum,string"` // of room, speaker and number of each
	Threads  int     `json:"threads"`         // of all clients and servers
	Seconds  float64 `json:"seconds"`         // from the first word to the last message heard
	PerS     float64 `json:"messages_per_second"`
	// Aggregation is how threads were aggregated in time: "sched_ext", "slices" or
	// "" where they were not.
	Aggregation string  `json:"aggregation,omitempty"`
	Why         string  `json:"why,omitempty"` // why it is no better one, or changes nothing
	Aggregated  any     `json:"aggregated,omitempty"`
	Processes   []Usage `json:"processes"` // client and server of each pair in turn
	Sum         Usage   `json:"sum"`       // of all
}

// Usage is what a process did from start to end. The study counted calls of
// schedule(), which are Voluntary plus Involuntary.
type Usage struct {
	Role          string  `json:"role,omitempty"`
	CPUs          string  `json:"cpus,omitempty"` // cpulist that its threads were mapped to, "" if they were not
	UserSeconds   float64 `json:"user_seconds"`
	SystemSeconds float64 `json:"system_seconds"`
	Voluntary     uint64  `json:"voluntary_switches"`
	Involuntary   uint64  `json:"involuntary_switches"`
	Migrations    uint64  `json:"migrations"` // of its threads from the first word on
}

// Answer is the count and the checksum in one word.
func (r Result) Answer() string { return fmt.Sprintf("%d/%016x", r.Heard, r.Checksum) }

// Check compares count and checksum with the known ones.
func (r Result) Check() error {
	heard, sum := expected(r.Rooms, r.Messages)
	if r.Heard != heard {
		return fmt.Errorf("%d messages were heard where %d must be", r.Heard, heard)
	}
	if r.Checksum != sum {
		return fmt.Errorf("the checksum of what was heard is %x where it must be %x", r.Checksum, sum)
	}
	return nil
}
