package sample

import (
	"cmp"
	"slices"
	"sort"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// bpfMigrations has every migration of every task, with from and to.
type bpfMigrations struct {
	kernel    *bpf.Migrations
	in, out   []uint64 // by CPU
	counts    []bpf.MoveCount
	processes []movedProcess
}

// movedProcess is what the threads of one process moved, ended ones included.
type movedProcess struct {
	tgid           kernel.TID
	moves, returns uint64
}

// newBPFMigrations begins to count now.
func newBPFMigrations(m *bpf.Migrations) (*bpfMigrations, error) {
	counts, _, err := m.Drain(nil) // since it was opened
	return &bpfMigrations{kernel: m, counts: counts[:0]}, err
}

func (*bpfMigrations) source() Source { return SourceBPF }

func (*bpfMigrations) refusal(err error) error { return err }

func (b *bpfMigrations) close() { b.kernel.Close() }

func (b *bpfMigrations) count(n *Sample, _ []*Task) error {
	counts, stats, err := b.kernel.Drain(b.counts[:0])
	if err != nil {
		return err
	}
	b.counts = counts
	n.HaveMoves, n.MovesLost = true, stats.Lost
	n.Moves = make([]Move, len(counts))
	for i := range counts {
		c := &counts[i]
		n.Moves[i] = Move{TID: c.TID, From: c.From, To: c.To, Count: c.Moves}
		add(&b.out, c.From, c.Moves)
		add(&b.in, c.To, c.Moves)
	}
	for i := range n.CPUs {
		c := &n.CPUs[i]
		c.MigrationsIn, c.HaveIn = at(b.in, c.ID), true
		c.MigrationsOut, c.HaveOut = at(b.out, c.ID), true
	}
	b.sumProcesses()
	slices.SortFunc(b.counts, func(x, y bpf.MoveCount) int { return cmp.Compare(x.TID, y.TID) })
	b.credit(n.Tasks)
	return nil
}

func add(by *[]uint64, cpu cpuset.CPU, n uint32) {
	if grow := int(cpu) + 1 - len(*by); grow > 0 {
		*by = append(*by, make([]uint64, grow)...)
	}
	(*by)[cpu] += uint64(n)
}

func at(by []uint64, cpu cpuset.CPU) uint64 {
	if int(cpu) >= len(by) {
		return 0
	}
	return by[cpu]
}

// sumProcesses adds up the counts by process, in rising order.
func (b *bpfMigrations) sumProcesses() {
	slices.SortFunc(b.counts, func(x, y bpf.MoveCount) int { return cmp.Compare(x.TGID, y.TGID) })
	b.processes = b.processes[:0]
	for i := range b.counts {
		c := &b.counts[i]
		if k := len(b.processes); k == 0 || b.processes[k-1].tgid != c.TGID {
			b.processes = append(b.processes, movedProcess{tgid: c.TGID})
		}
		p := &b.processes[len(b.processes)-1]
		p.moves += uint64(c.Moves)
		p.returns += uint64(c.Returns)
	}
}

// credit gives the tasks what they moved. The migrations of a process with
// several threads are counted here, because the kernel's own counts go with the
// threads that end.
func (b *bpfMigrations) credit(now []*Task) {
	i := 0
	for k := range b.counts {
		c := &b.counts[k]
		if c.Returns == 0 {
			continue
		}
		if i = seek(now, i, c.TID); i < len(now) && now[i].TID == c.TID && !now[i].IsProcess() {
			own(now, i).PingPongs += uint64(c.Returns)
		}
	}
	i = 0
	for _, p := range b.processes {
		if i = seek(now, i, p.tgid); i == len(now) || now[i].TID != p.tgid {
			continue
		}
		if p.returns == 0 && !now[i].summed {
			continue
		}
		t := own(now, i)
		t.PingPongs += p.returns
		if t.summed {
			t.Migrations += p.moves
		}
	}
}

// own makes a row one that no other sample shares.
func own(rows []*Task, i int) *Task {
	t := *rows[i]
	rows[i] = &t
	return &t
}

// seek returns the index of the first task from i on whose number is not below tid.
func seek(tasks []*Task, i int, tid kernel.TID) int {
	return i + sort.Search(len(tasks)-i, func(k int) bool { return tasks[i+k].TID >= tid })
}
