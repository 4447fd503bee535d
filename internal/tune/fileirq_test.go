package tune

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// threaded makes a line that a thread handles, and what moves both to a CPU.
func (m *machine) threaded(number string, tid kernel.TID, flags uint32) (file string, move []Request) {
	file = m.line(number, "eth0", "0-3")
	m.spawn(tid, tid)
	m.tasks[tid].Comm, m.tasks[tid].Flags = []byte("irq/"+number+"-eth0"), flagKernelThread|flags
	move = moveIRQ(file, "irq "+number, "2")
	cpus := cpuset.Of(2)
	move[0].Targets, move[0].Settings = []Target{{TID: tid, Scope: ScopeThread}}, Settings{Affinity: &cpus}
	return file, move
}

func TestThreadMovesWithItsLine(t *testing.T) {
	m := newMachine(t)
	_, move := m.threaded("24", 77, 0)
	tuner := m.tuner(Options{Journal: openJournal(t)})
	result := apply(t, tuner, move)
	assert.Equal(t, []string{"irq-affinity 0-3 to 2: done", "affinity 0-3 to 2: done"}, outcome(result.Changes))
	result = undo(t, tuner, UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 2 to 0-3: done", "irq-affinity 2 to 0-3: done"}, outcome(result.Changes))
}

// Since Linux 7 nobody but the kernel moves a handler's thread.
func TestThreadThatTheKernelMoves(t *testing.T) {
	m := newMachine(t)
	_, move := m.threaded("24", 77, flagNoSetAffinity)
	result := apply(t, m.tuner(Options{}), move)
	assert.Equal(t, []string{"irq-affinity 0-3 to 2: done", "affinity 0-3 to 0-3: unchanged"}, outcome(result.Changes))
	assert.Equal(t, "the kernel moves it with its interrupt", result.Changes[1].Reason)

	result = apply(t, m.tuner(Options{}), pin(ScopeThread, cpuset.Of(1), 77))
	assert.Equal(t, "irq/24-eth0 handles interrupt 24 and goes where that goes: piton irq move 24", result.Changes[0].Reason)
}

func TestThreadStaysWithALineThatStays(t *testing.T) {
	m := newMachine(t)
	file, move := m.threaded("24", 77, 0)
	m.files.Fail("WriteSetting", file, syscall.ENOSPC)
	result := apply(t, m.tuner(Options{}), move)
	assert.Equal(t, []string{"irq-affinity 0-3 to 2: failed", "affinity 0-3 to 2: refused"}, outcome(result.Changes))
	assert.Equal(t, "its interrupt 24 could not be moved", result.Changes[1].Reason)
	assert.Empty(t, m.Calls())

	m.files.Fail("WriteSetting", file, 0)
	m.readOnly(file)
	result = apply(t, m.tuner(Options{}), move)
	assert.Equal(t, []string{"irq-affinity 0-3 to 2: refused", "affinity 0-3 to 2: refused"}, outcome(result.Changes))
	assert.Contains(t, result.Changes[1].Reason, "its interrupt stays where it is: ")
	assert.Empty(t, m.Calls())
}

// The kernel puts a handler's thread on the one CPU where its line really goes.
func TestThreadThatFollowedItsLineIsNoDrift(t *testing.T) {
	m := newMachine(t)
	_, move := m.threaded("24", 77, 0)
	wide := cpuset.Of(1, 2)
	move[0].Files[0].Value, move[0].Settings = "1-2", Settings{Affinity: &wide}
	tuner := m.tuner(Options{Journal: openJournal(t)})
	apply(t, tuner, move)
	m.Create(77, kerneltest.Task{Affinity: cpuset.Of(1)})
	result := undo(t, tuner, UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done", "irq-affinity 1-2 to 0-3: done"}, outcome(result.Changes))

	apply(t, tuner, move)
	m.Create(77, kerneltest.Task{Affinity: cpuset.Of(3)}) // but this is
	result = undo(t, tuner, UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 3 to 0-3: refused", "irq-affinity 1-2 to 0-3: done"}, outcome(result.Changes))
}

// A thread follows its line with the next interrupt, which may come between the plan
// and its turn; what a user sets then is left alone.
func TestThreadFollowsItsLineBeforeItsTurn(t *testing.T) {
	for comm, want := range map[string]Status{"irq/24-eth0": Done, "eth0": Refused} {
		m := newMachine(t)
		m.spawn(77, 77)
		m.tasks[77].Comm = []byte(comm)
		tuner := m.tuner(Options{Journal: openJournal(t)})
		apply(t, tuner, pin(ScopeThread, cpuset.Of(1, 2), 77))
		plan, err := tuner.PlanUndo(context.Background(), UndoRequest{All: true})
		require.NoError(t, err)
		require.NoError(t, m.SetAffinity(77, cpuset.Of(2)))
		result, err := tuner.Apply(context.Background(), plan)
		require.NoError(t, err)
		assert.Equal(t, want, result.Changes[0].Status, result.Changes[0].Reason)
		if want == Refused {
			assert.Contains(t, result.Changes[0].Reason, "since the undo was planned")
		}
	}
}

func TestUndoOfAFileLeavesOthersChangesAlone(t *testing.T) {
	m := newMachine(t)
	file := m.line("24", "eth0", "0-3")
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	apply(t, tuner, moveIRQ(file, "irq 24 (eth0)", "1"))
	m.files.Put(file, "3\n") // irqbalance was here
	result := undo(t, tuner, UndoRequest{All: true})
	assert.Equal(t, "somebody else has changed it since: piton left 1 and it is 3 now; left alone unless forced", result.Changes[0].Reason)
	assert.False(t, entriesOf(t, j)[0].Undone)
	result = undo(t, tuner, UndoRequest{All: true, Force: true})
	assert.Equal(t, []string{"irq-affinity 3 to 0-3: done"}, outcome(result.Changes))
	assert.True(t, entriesOf(t, j)[0].Undone)
}

// A number may come to mean another device's line: that one is nobody's to undo.
func TestUndoKnowsAnotherLineWithTheNumber(t *testing.T) {
	for name, change := range map[string]func(m *machine, file string){
		"another device": func(m *machine, _ string) { m.line("24", "nvme0q1", "1") },
		"gone":           func(m *machine, file string) { m.files.Remove(file) },
	} {
		m := newMachine(t)
		file := m.line("24", "eth0", "0-3")
		j := openJournal(t)
		tuner := m.tuner(Options{Journal: j})
		apply(t, tuner, moveIRQ(file, "irq 24 (eth0)", "1"))
		early, err := tuner.PlanUndo(context.Background(), UndoRequest{All: true})
		require.NoError(t, err)
		change(m, file)
		plan, err := tuner.PlanUndo(context.Background(), UndoRequest{All: true, Force: true})
		require.NoError(t, err)
		assert.Equal(t, Unchanged, plan.Changes[0].Status, name)
		assert.Equal(t, "irq 24 (eth0) is gone, so there is nothing to undo", plan.Changes[0].Reason, name)
		result, err := tuner.Apply(context.Background(), early)
		require.NoError(t, err)
		assert.Equal(t, Failed, result.Changes[0].Status, name)
		assert.ErrorIs(t, result.Changes[0].Err, ErrGone, name)
		assert.Len(t, m.files.Calls(), 1, name)
		assert.True(t, entriesOf(t, j)[0].Undone, name)
	}
}

// piton may end at any moment: before a file is written, or before it could say
// that it was.
func TestUndoAfterACrashAmongFiles(t *testing.T) {
	files := []string{"24", "25", "26"}
	for crash := range len(files) + 1 {
		m := newMachine(t)
		var settings []FileSetting
		for _, n := range files {
			settings = append(settings, moveIRQ(m.line(n, "eth0", "0-3"), "irq "+n, "1")[0].Files...)
		}
		before := m.files.All()
		j := openJournal(t)
		plan, err := m.tuner(Options{}).Plan(context.Background(), []Request{{Files: settings}})
		require.NoError(t, err)
		_, err = j.append(record{Kind: kindBegin, Boot: j.boot, Changes: toJournal(plan.Changes)}, true)
		require.NoError(t, err)
		for _, s := range settings[:crash] {
			m.files.Put(s.Path, "1\n")
		}
		require.False(t, entriesOf(t, j)[0].Finished)
		result := undo(t, m.tuner(Options{Journal: j}), UndoRequest{All: true})
		assert.Equal(t, crash, result.Count(Done))
		assert.Equal(t, len(files)-crash, result.Count(Unchanged))
		assert.Equal(t, before, m.files.All())
		assert.True(t, entriesOf(t, j)[0].Undone)
	}
}

func TestFileIsCutAndRounded(t *testing.T) {
	m := newMachine(t)
	const flows, rps = "/sys/class/net/eth0/queues/rx-0/rps_flow_cnt", "/sys/class/net/eth0/queues/rx-0/rps_cpus"
	m.files.Put(flows, "0\n")
	m.files.Put(rps, "0\n")
	m.files.Store = func(path, text string) (string, error) {
		return map[string]string{flows: "1024\n", rps: "00000003\n"}[path], nil
	}
	set := func(a Attribute, path, value string) Change {
		return apply(t, m.tuner(Options{}), []Request{{Files: []FileSetting{{a, path, "eth0 rx-0", value}}}}).Changes[0]
	}
	c := set(RPSFlows, flows, "1000")
	assert.Equal(t, []any{Done, "1024", "the kernel rounded 1000 up to a power of two"}, []any{c.Status, c.After, c.Reason})
	c = set(RPSFlows, flows, "5000")
	assert.Equal(t, Failed, c.Status, "that is no rounding")
	assert.Contains(t, c.Reason, "it did not stick")
	c = set(RPSCPUs, rps, "0-3")
	assert.Equal(t, []any{Done, "0-1", "CPUs 0-1 are in force: the kernel left out 2-3"}, []any{c.Status, c.After, c.Reason})
	c = set(RPSCPUs, rps, "2")
	assert.Equal(t, Failed, c.Status)
	assert.Contains(t, c.Reason, "it did not stick: 2 was set and 0-1 is in force")
}

func TestAutogroupOfASession(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	const file = "/proc/10/autogroup"
	m.files.Put(file, "/autogroup-25 nice 0\n")
	m.files.Store = func(_, text string) (string, error) { return "/autogroup-25 nice " + text, nil }
	set := []Request{{Files: []FileSetting{{AutogroupNice, file, "session of 10", "5"}}}}
	tuner := m.tuner(Options{Journal: openJournal(t)})
	result := apply(t, tuner, set)
	assert.Equal(t, []string{"autogroup 0 to 5: done"}, outcome(result.Changes))
	assert.Equal(t, kernel.TID(10), result.Changes[0].PID)
	assert.Equal(t, 1, undo(t, tuner, UndoRequest{All: true}).Count(Done))

	plan, err := tuner.Plan(context.Background(), set)
	require.NoError(t, err)
	m.end(10)
	m.spawn(10, 10)
	m.tasks[10].StartTicks = 99999 // the number was reused
	result, err = tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.ErrorIs(t, result.Changes[0].Err, ErrGone)
	assert.Len(t, m.files.Calls(), 2, "the newcomer's session was left alone")
}

func TestFilesTextAndCounts(t *testing.T) {
	irq := func(n string) Change {
		return Change{Attribute: IRQAffinity, Path: "/proc/irq/" + n + "/x", Name: "irq " + n}
	}
	queue := Change{Attribute: RPSCPUs, Path: "/sys/q"}
	task := Change{PID: 1, TID: 1, Attribute: Affinity}
	assert.Equal(t, "", FilesText([]Change{task}))
	assert.Equal(t, "irq 24", FilesText([]Change{task, irq("24"), irq("24")}))
	assert.Equal(t, "/sys/q", FilesText([]Change{queue}))
	assert.Equal(t, "2 IRQs, 1 receive queue", FilesText([]Change{irq("24"), queue, irq("25")}))
	assert.Equal(t, "2 files", FilesText([]Change{{Attribute: "novel", Path: "/a"}, {Attribute: "novel", Path: "/b"}}))
	p := Plan{Changes: []Change{task, irq("24"), irq("24"), queue}}
	assert.Equal(t, []int{1, 1, 2}, []int{p.Processes(), p.Threads(), p.Files()})
	b, err := irq("24").MarshalJSON()
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"change","object":"irq 24","path":"/proc/irq/24/x","attribute":"irq-affinity","before":"","after":"","status":"","error":"","reason":""}`, string(b))
}
