package chat

import (
	"io"
	"sync/atomic"

	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

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

type listening struct{ Address string }

type part struct {
	BeginNs, EndNs int64 // CLOCK_MONOTONIC, so that processes can be compared
	Heard, Sum     uint64
	Threads        int
	Migrations     uint64
}

func runProcess(c *child.Child) error {
	p := &process{child: c}
	if err := c.Hear(&p.config); err != nil {
		return err
	}
	child.ThreadRoom(threadsEach * Members * len(p.Rooms))
	return p.run()
}

type process struct {
	config
	child   *child.Child
	gate    uint32 // 1 = threads may begin
	workers []worker
	ended   chan error
	tids    []kernel.TID
}

type worker interface{ run() trouble }

func (p *process) run() error {
	prepare := p.prepareClient
	if p.Role == server {
		prepare = p.prepareServer
	}
	for _, step := range []func() error{p.enoughFiles, prepare, p.startThreads} {
		if err := step(); err != nil {
			return err
		}
	}
	before := p.migrations()
	if err := p.child.Ready(); err != nil {
		return err
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
		case <-p.child.Closed(): // the others have failed
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
	return p.child.Tell(result)
}
