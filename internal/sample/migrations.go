package sample

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
)

// counterAPI is how perfMigrations reaches the kernel.
type counterAPI struct {
	open func(cpuset.CPU) (int, error)
	read func(fd int) (uint64, error)
	shut func(fd int) error
}

var systemCounters = counterAPI{kernel.OpenMigrationCounter, kernel.ReadCounter, kernel.CloseFile}

// perfMigrations counts with one perf software counter per online CPU.
type perfMigrations struct {
	api  counterAPI
	cpus map[cpuset.CPU]*perfCounter
	seq  uint64
}

type perfCounter struct {
	fd     int    // -1 while the CPU is offline
	before uint64 // counted by descriptors closed since
	last   uint64
	seq    uint64 // the CPU was online last
}

func newPerfMigrations(api counterAPI) *perfMigrations {
	return &perfMigrations{api: api, cpus: map[cpuset.CPU]*perfCounter{}}
}

func (*perfMigrations) source() Source { return SourcePerf }

func (*perfMigrations) refusal(err error) error { return feature.PerfMigrations(err) }

func (p *perfMigrations) close() {
	for _, c := range p.cpus {
		p.shut(c)
	}
}

// count reads the counter of every CPU. A CPU that just went offline keeps its
// count and is opened again when it is back.
func (p *perfMigrations) count(n *Sample, _ []*Task) error {
	p.seq++
	for i := range n.CPUs {
		if err := p.one(&n.CPUs[i]); err != nil {
			return err
		}
	}
	for _, c := range p.cpus {
		if c.seq != p.seq {
			p.shut(c)
		}
	}
	return nil
}

func (p *perfMigrations) one(cpu *CPU) error {
	c := p.cpus[cpu.ID]
	if c == nil {
		c = &perfCounter{fd: -1}
		p.cpus[cpu.ID] = c
	}
	c.seq = p.seq
	if c.fd < 0 {
		fd, err := p.api.open(cpu.ID)
		if errors.Is(err, syscall.ENODEV) { // offline since /proc/stat was read
			return nil
		}
		if err != nil {
			return err
		}
		c.fd = fd
	}
	n, err := p.api.read(c.fd)
	if errors.Is(err, io.EOF) { // offline and back between two samples
		p.shut(c)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the migration counter of cpu %d: %w", cpu.ID, err)
	}
	c.last = n
	cpu.MigrationsIn, cpu.HaveIn = c.before+n, true
	return nil
}

func (p *perfMigrations) shut(c *perfCounter) {
	if c.fd < 0 {
		return
	}
	_ = p.api.shut(c.fd) // read only
	c.before, c.last, c.fd = c.before+c.last, 0, -1
}

// sampledMigrations compares the last CPU of every task from one sample to the
// next: of a bouncing task it sees one move a sample at most.
type sampledMigrations struct{ in, out map[cpuset.CPU]uint64 }

func newSampledMigrations() *sampledMigrations {
	return &sampledMigrations{in: map[cpuset.CPU]uint64{}, out: map[cpuset.CPU]uint64{}}
}

func (*sampledMigrations) source() Source { return SourceSampled }

func (*sampledMigrations) refusal(err error) error { return err }

func (*sampledMigrations) close() {}

func (s *sampledMigrations) count(n *Sample, before []*Task) error {
	j := 0
	for _, t := range n.Tasks {
		for j < len(before) && before[j].TID < t.TID {
			j++
		}
		if j == len(before) {
			break
		}
		old := before[j]
		if old.TID == t.TID && old.StartTicks == t.StartTicks && old.LastCPU != t.LastCPU &&
			old.LastCPU >= 0 && t.LastCPU >= 0 {
			s.out[cpuset.CPU(old.LastCPU)]++
			s.in[cpuset.CPU(t.LastCPU)]++
		}
	}
	for i := range n.CPUs {
		c := &n.CPUs[i]
		c.MigrationsIn, c.HaveIn = s.in[c.ID], true
		c.MigrationsOut, c.HaveOut = s.out[c.ID], true
	}
	return nil
}
