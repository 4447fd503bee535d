package chat

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// config is what Run tells a process, the first line of its standard input.
type config struct {
	Role     role
	Rooms    []int
	Messages int
	Address  string // of the server, for a client
	// Thread t goes to CPUs[(From+t) mod len(CPUs)], if there are any.
	CPUs    []cpuset.CPU
	From    int
	SliceNs uint64 // 0 = as it is
	Ext     bool   // policy kernel.Ext
}

type role string

const (
	server role = "server"
	client role = "client"
)

// report is a line that a process prints: address (of a server), ready, and at
// last result, or error at any time.
type report struct {
	Error   string `json:",omitempty"`
	Address string `json:",omitempty"`
	Ready   bool   `json:",omitempty"`
	Result  *part  `json:",omitempty"`
}

// part is what a process did.
type part struct {
	BeginNs, EndNs int64 // CLOCK_MONOTONIC, so that processes can be compared
	Heard, Sum     uint64
	Threads        int
	Migrations     uint64
}

// Process is the whole life of a client or a server, which in and out tell what
// to do and what was done. It ends when in does, and returns the exit code.
func Process(in *os.File, out io.Writer) int {
	commands, lines := json.NewDecoder(in), json.NewEncoder(out)
	var c config
	if err := commands.Decode(&c); err != nil {
		return 1 // whoever started it is gone
	}
	// Nothing may stop threads that wait in the kernel: see kernel.BlockingRead.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(threadsEach*Members*len(c.Rooms) + runtime.NumCPU() + 2)
	failed := make(chan int, 1)
	go func() {
		p := &process{config: c, commands: commands, lines: lines, opened: make(chan struct{}), closed: make(chan struct{})}
		if err := p.run(); err != nil {
			_ = lines.Encode(report{Error: fmt.Sprintf("%s: %v", c.Role, err)})
			failed <- 1
			return
		}
		<-p.closed
		failed <- 0
	}()
	return <-failed
}

type process struct {
	config
	commands *json.Decoder
	lines    *json.Encoder
	opened   chan struct{} // Run says go
	closed   chan struct{} // Run has all, or is gone
	gate     uint32        // 1 = threads may begin
	workers  []worker
	ended    chan error
	tids     []kernel.TID
	sockets  []socket
}

// worker is what a thread runs.
type worker interface{ run() trouble }

func (p *process) run() error {
	prepare := p.prepareClient
	if p.Role == server {
		prepare = p.prepareServer
	}
	if err := prepare(); err != nil {
		return err
	}
	if err := p.startThreads(); err != nil {
		return err
	}
	before := p.migrations()
	if err := p.lines.Encode(report{Ready: true}); err != nil {
		return err
	}
	go p.listen()
	select {
	case <-p.opened:
	case <-p.closed:
		return io.ErrUnexpectedEOF
	}
	result := part{BeginNs: int64(kernel.Monotonic()), Threads: len(p.workers)}
	atomic.StoreUint32(&p.gate, 1)
	kernel.Wake(&p.gate, len(p.workers))
	for range p.workers {
		select {
		case err := <-p.ended:
			if err != nil {
				return err
			}
		case <-p.closed: // the others have failed
			return io.ErrUnexpectedEOF
		}
	}
	result.EndNs = int64(kernel.Monotonic())
	result.Migrations = p.migrations() - before
	for _, w := range p.workers {
		if l, ok := w.(*listener); ok {
			result.Heard, result.Sum = result.Heard+l.heard, result.Sum+l.sum
		}
	}
	return p.lines.Encode(report{Result: &result})
}

// listen opens the gate at the second line of the input, and ends with it.
func (p *process) listen() {
	defer close(p.closed)
	var word string
	if p.commands.Decode(&word) != nil {
		return
	}
	close(p.opened)
	_ = p.commands.Decode(&word)
}
