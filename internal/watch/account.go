package watch

import (
	"piton/internal/bpf"
	"piton/internal/kernel"
)

// accounts compare what was told of each thread with the kernel's own count of
// its moves, se.nr_migrations. They differ where the kernel hides tasks from
// eBPF, as it may hide a hypervisor's agent: no program runs while such a task
// is current, so a move that is made then is not told.
type accounts map[kernel.TID]*account

// account is one thread's. Numbers are the low part of se.nr_migrations.
type account struct {
	tgid         kernel.TID
	first, next  uint32 // before the first move that counts, after the last one told
	last         uint32 // when watching ended; moves from before it may be told later
	moved, lives bool
	told         uint64
	missing      uint64 // of threads that had the number before
}

// begin opens the account of a thread that is there when watching begins; one
// that is not begins at 0.
func (a accounts) begin(pid, tid kernel.TID, migrations uint64) {
	a[tid] = &account{tgid: pid, first: uint32(migrations), next: uint32(migrations)}
}

func (a accounts) of(pid, tid kernel.TID) *account {
	one := a[tid]
	if one == nil {
		one = &account{tgid: pid}
		a[tid] = one
	}
	return one
}

// move enters a move. Some may come from before begin looked.
func (a accounts) move(m *bpf.Move) {
	one := a.of(m.TGID, m.TID)
	switch {
	case !one.moved:
		if int32(m.Before-one.first) < 0 {
			one.first = m.Before
		}
	case int32(m.Before-one.next) < 0: // another thread's number now
		*one = account{tgid: m.TGID, last: one.last, lives: one.lives, missing: one.unseen()}
	}
	one.moved = true
	one.next = m.Before + 1
	one.told++
}

// lost enters moves that are told as a count.
func (a accounts) lost(c bpf.MoveCount) { a.of(c.TGID, c.TID).told += uint64(c.Moves) }

// end enters the kernel's count of a thread that is there when watching ends.
func (a accounts) end(pid, tid kernel.TID, migrations uint64) {
	one := a.of(pid, tid)
	one.last, one.lives = uint32(migrations), true
}

// unseen is how many moves the kernel counted that were not told.
func (o *account) unseen() uint64 {
	next := o.next
	if o.lives && int32(o.last-next) > 0 {
		next = o.last
	}
	made := uint64(next - o.first)
	return o.missing + made - min(made, o.told)
}
