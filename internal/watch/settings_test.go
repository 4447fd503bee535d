package watch

import (
	"encoding/binary"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/bpf"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/procfs"
)

// event is a call as the program reports it, of process 10 with name web by process 5.
func event(call bpf.SetCall, edit func(c *bpf.Change)) bpf.Change {
	web := bpf.TaskSet{StartNs: 5e9, TID: 11, TGID: 10, StaticPriority: 120, Comm: [16]byte{'w', 'e', 'b'}}
	c := bpf.Change{SetEvent: bpf.SetEvent{Call: call, ByTID: 5, ByTGID: 5, ByComm: [16]byte{'m', 'e'}, Before: web, After: web, Program: 7, ProgramDevice: 8}}
	edit(&c)
	return c
}

func TestSettingsOfCalls(t *testing.T) {
	asked := func(c *bpf.Change, at int, value uint32) { binary.NativeEndian.PutUint32(c.Asked[at:], value) }
	for name, test := range map[string]struct {
		call bpf.SetCall
		edit func(*bpf.Change)
		want []string
	}{
		"affinity": {bpf.SetAffinity, func(c *bpf.Change) { c.CPUsBefore, c.CPUsAfter = cpuset.Of(0, 1), cpuset.Of(1) },
			[]string{"web 10/11 affinity 0-1 → 1"}},
		"refused": {bpf.SetAffinity, func(c *bpf.Change) {
			c.CPUsBefore, c.CPUsAfter, c.CPUsAsked, c.Result = cpuset.Of(0, 1), cpuset.Of(0, 1), cpuset.Of(9), -int64(syscall.EINVAL)
		}, []string{"web 10/11 affinity 0-1 → 9: EINVAL"}},
		"no such task": {bpf.SetAffinity, func(c *bpf.Change) {
			c.Before, c.After, c.Args[0], c.CPUsAsked, c.Result = bpf.TaskSet{}, bpf.TaskSet{}, 99, cpuset.Of(0), -int64(syscall.ESRCH)
		}, []string{"tid 99 affinity 0: ESRCH"}},
		"ended meanwhile": {bpf.SetAffinity, func(c *bpf.Change) {
			c.CPUsBefore, c.CPUsAsked, c.After = cpuset.Of(0, 1), cpuset.Of(0), bpf.TaskSet{}
		}, []string{"web 10/11 affinity 0-1 → 0"}},
		"policy": {bpf.SetScheduler, func(c *bpf.Change) { c.After.Policy, c.After.RTPrio = 1, 10 }, []string{"web 10/11 policy OTHER → FIFO:10"}},
		"policy refused": {bpf.SetScheduler, func(c *bpf.Change) {
			c.Args[1], c.Result = 0x40000002, -int64(syscall.EPERM)
			asked(c, 0, 7)
		}, []string{"web 10/11 policy OTHER → RR:7,reset-on-fork: EPERM"}},
		"priority refused": {bpf.SetParam, func(c *bpf.Change) {
			c.Before.Policy, c.Before.RTPrio, c.Result = 1, 5, -int64(syscall.EPERM)
			asked(c, 0, 7)
		}, []string{"web 10/11 policy FIFO:5 → FIFO:7: EPERM"}},
		"both": {bpf.SetAttr, func(c *bpf.Change) { c.After.StaticPriority, c.After.Policy = 125, 3 },
			[]string{"web 10/11 nice 0 → 5", "web 10/11 policy OTHER → BATCH"}},
		"one of both": {bpf.SetAttr, func(c *bpf.Change) { c.After.StaticPriority = 125 }, []string{"web 10/11 nice 0 → 5"}},
		"nothing":     {bpf.SetAttr, func(*bpf.Change) {}, []string{"web 10/11 policy OTHER → OTHER"}},
		"deadline refused": {bpf.SetAttr, func(c *bpf.Change) {
			c.Result = -int64(syscall.EBUSY)
			asked(c, 4, 6)
			asked(c, 24, 5e6)
			asked(c, 32, 1e7)
			asked(c, 40, 2e7)
		}, []string{"web 10/11 policy OTHER → DEADLINE:5ms/10ms/20ms: EBUSY"}},
		"nice refused": {bpf.SetPriority, func(c *bpf.Change) { c.Args[2], c.Result = 1<<32-5, -int64(syscall.EACCES) },
			[]string{"web 10/11 nice 0 → -5: EACCES"}},
		"process group": {bpf.SetPriority, func(c *bpf.Change) {
			c.Before, c.After, c.Args = bpf.TaskSet{}, bpf.TaskSet{}, [4]uint64{syscall.PRIO_PGRP, 44, 3}
		}, []string{"process group 44 nice 3"}},
		"user": {bpf.SetIOPrio, func(c *bpf.Change) {
			c.Before, c.After, c.Args = bpf.TaskSet{}, bpf.TaskSet{}, [4]uint64{syscall.PRIO_USER + 1, 1000, 3 << 13}
		}, []string{"user 1000 ioprio idle"}},
		"ioprio": {bpf.SetIOPrio, func(c *bpf.Change) { c.After.IOPrio = 2<<13 | 7 }, []string{"web 10/11 ioprio none → best-effort:7"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := values{fs: procfs.New(t.TempDir())}
			c := event(test.call, test.edit)
			var got []string
			for _, s := range v.settings(&c) {
				got = append(got, s.Target()+" "+string(s.Attribute)+" "+s.Words())
				assert.Equal(t, Changer{PID: 5, TID: 5, Comm: "me"}, s.By)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestSettingsOfThisProgramAreMarked(t *testing.T) {
	v := values{fs: procfs.New(t.TempDir()), own: bpf.Executable{Inode: 7, Device: 8}}
	c := event(bpf.SetPriority, func(*bpf.Change) {})
	assert.True(t, v.settings(&c)[0].By.Own)
	c.Program++
	assert.False(t, v.settings(&c)[0].By.Own)
}

func TestWhoOverwritesAPin(t *testing.T) {
	itself := Setting{By: Changer{PID: 10, Comm: "thread-2"}, Of: attr.Object{PID: 10, TID: 11, Comm: "bouncer"}, Attribute: attr.Affinity}
	other, nice, rare := itself, itself, itself
	other.By.PID, nice.Attribute = 1, attr.Nice
	for _, test := range []struct {
		s    Setting
		n    int
		want string
	}{
		{itself, 1180, "bouncer sets its own affinity, 590 times a second: a pin will not hold"},
		{other, 1180, ""},
		{nice, 1180, ""},
		{rare, 1, ""},
	} {
		var c SetCount
		for range test.n {
			c.Add(&test.s)
		}
		assert.Equal(t, test.want, c.Overwrites(test.s.Setter(), 2*time.Second))
	}
}
