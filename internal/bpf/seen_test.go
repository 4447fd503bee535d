package bpf

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// seen is one task as /proc has it.
type seen struct {
	stat   procfs.Stat
	run    procfs.Schedstat
	status procfs.Status
	sched  procfs.Sched
	// sums over the threads that live, of a process
	migrations, voluntary, involuntary uint64
}

// see reads a task below /proc; false if it is gone.
func see(dir string) (s seen, ok bool) {
	read := func(name string, parse func([]byte) error) {
		b, err := os.ReadFile(dir + "/" + name)
		ok = ok && err == nil && parse(b) == nil
	}
	ok = true
	read("stat", func(b []byte) error { return procfs.ParseStat(b, &s.stat) })
	read("schedstat", func(b []byte) (err error) { s.run, err = procfs.ParseSchedstat(b); return err })
	read("status", func(b []byte) (err error) { s.status, err = procfs.ParseStatus(b); return err })
	read("sched", func(b []byte) (err error) { s.sched, err = procfs.ParseSched(b); return err })
	return s, ok
}

// seeAll reads every process and every thread of the machine, by tid; the
// thread that leads is there as the process.
func seeAll(tb testing.TB) map[kernel.TID]seen {
	tb.Helper()
	all := map[kernel.TID]seen{}
	pids, err := os.ReadDir("/proc")
	require.NoError(tb, err)
	for _, p := range pids {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		process, ok := see("/proc/" + p.Name())
		threads, _ := os.ReadDir("/proc/" + p.Name() + "/task")
		for _, t := range threads {
			tid, _ := strconv.Atoi(t.Name())
			s, there := see(fmt.Sprintf("/proc/%d/task/%d", pid, tid))
			if ok = ok && there; !ok {
				break
			}
			process.migrations += s.sched.Migrations
			process.voluntary += s.status.VoluntarySwitches
			process.involuntary += s.status.InvoluntarySwitches
			if tid != pid {
				s.migrations, s.voluntary, s.involuntary = s.sched.Migrations, s.status.VoluntarySwitches, s.status.InvoluntarySwitches
				all[kernel.TID(tid)] = s
			}
		}
		if ok {
			all[kernel.TID(pid)] = process
		}
	}
	return all
}

// rested reports whether a task did nothing between two looks.
func rested(a, b *seen) bool {
	a.stat.Comm, b.stat.Comm = []byte(string(a.stat.Comm)), []byte(string(b.stat.Comm))
	return a.run == b.run && assert.ObjectsAreEqual(a.stat, b.stat) && assert.ObjectsAreEqual(a.status, b.status) && a.migrations == b.migrations
}

// compare checks a record against two looks at /proc, one before the walk and
// one after. Counters have to lie between them; of a task that rested all else
// has to be equal.
func compare(tb testing.TB, r *Record, masks masksByRow, a, b *seen, processRested bool) (equal bool) {
	tb.Helper()
	who := fmt.Sprintf("task %d %q", r.TID, r.CommRaw())
	between := func(what string, low, value, high uint64) {
		tb.Helper()
		assert.True(tb, low <= value && value <= high, "%s: %s is %d, /proc had %d and then %d", who, what, value, low, high)
	}
	user, system := AdjustCPUTime(r.UserNs, r.SystemNs, r.CPUNs, tickNs*a.stat.UserTicks, tickNs*a.stat.SystemTicks)
	// A bpftest.Tick is cut off on either side of the division, which itself is not bound
	// to what /proc divides later.
	between("CPU time", a.stat.UserTicks+a.stat.SystemTicks, (user+system)/tickNs, b.stat.UserTicks+b.stat.SystemTicks+2)
	between("minor faults", a.stat.MinorFaults, r.MinorFaults, b.stat.MinorFaults)
	between("major faults", a.stat.MajorFaults, r.MajorFaults, b.stat.MajorFaults)
	between("run time", a.run.RunNs, r.RunNs, b.run.RunNs)
	between("run delay", a.run.RunDelayNs, r.RunDelayNs, b.run.RunDelayNs)
	between("slices", a.run.Slices, r.Slices, b.run.Slices)
	if r.IsProcess() && a.stat.Threads != 1 { // threads may have exited, with their counts
		assert.GreaterOrEqual(tb, r.VoluntarySwitches, a.voluntary, who)
		assert.GreaterOrEqual(tb, r.InvoluntarySwitches, a.involuntary, who)
	}
	if !rested(a, b) {
		return false
	}
	assert.Equal(tb, a.migrations, r.Migrations, "%s: migrations", who)
	if processRested {
		assert.InDelta(tb, a.stat.UserTicks, user/tickNs, 1, "%s: user time", who)
		assert.InDelta(tb, a.stat.SystemTicks, system/tickNs, 1, "%s: system time", who)
	}
	if !r.IsProcess() {
		assert.Equal(tb, a.voluntary, r.VoluntarySwitches, "%s: voluntary switches", who)
		assert.Equal(tb, a.involuntary, r.InvoluntarySwitches, "%s: involuntary switches", who)
	}
	got := procfs.Stat{
		TID: r.TID, State: r.State, PPID: r.PPID, Flags: r.Flags, MinorFaults: r.MinorFaults, MajorFaults: r.MajorFaults,
		Priority: r.Priority, Nice: r.Nice, Threads: r.Threads, StartTicks: r.StartNs / tickNs, RSSPages: r.RSSPages,
		LastCPU: r.LastCPU, RTPrio: r.RTPrio, Policy: r.Policy,
		Comm: a.stat.Comm, Group: a.stat.Group, Session: a.stat.Session, UserTicks: a.stat.UserTicks, SystemTicks: a.stat.SystemTicks,
	}
	if !processRested { // its other threads may have changed its memory, or their own number
		got.RSSPages, got.Threads = a.stat.RSSPages, a.stat.Threads
	}
	if r.Flags&kernelThread != 0 { // /proc has longer names
		assert.Contains(tb, string(a.stat.Comm), string(r.CommRaw()), who)
	} else {
		assert.Equal(tb, string(a.stat.Comm), string(r.CommRaw()), who)
	}
	assert.Equal(tb, a.stat, got, who)
	assert.Equal(tb, a.status.EUID, r.UID, who)
	assert.Equal(tb, a.status.TGID, r.TGID, who)
	assert.Equal(tb, a.status.CPUsAllowed.String(), masks.of(r), "%s: affinity", who)
	return true
}

// kernelThread is PF_KTHREAD.
const kernelThread = 0x00200000

// tickNs is USER_HZ, 100 on all machines that Linux serves here (sysconf(3)).
const tickNs = 1e7
