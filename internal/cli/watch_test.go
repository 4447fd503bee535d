package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
)

// watching is a run of piton watch -o json in this process.
type watching struct {
	t       *testing.T
	signals chan os.Signal
	read    *io.PipeReader
	lines   *bufio.Scanner
	first   map[string]any
	errs    bytes.Buffer
	code    chan int
}

// startWatch returns once the watching has begun.
func startWatch(t *testing.T, args ...string) *watching {
	t.Helper()
	w := &watching{t: t, signals: make(chan os.Signal, 1), code: make(chan int, 1)}
	read, write := io.Pipe()
	go func() {
		defer write.Close()
		w.code <- Main(app.IO{Args: append([]string{"watch", "-o", "json"}, args...), Out: write, Err: &w.errs, Signals: w.signals})
	}()
	w.read, w.lines = read, bufio.NewScanner(read)
	require.True(t, w.lines.Scan(), "it begins")
	require.NoError(t, json.Unmarshal(w.lines.Bytes(), &w.first))
	require.Equal(t, "watch", w.first["type"])
	return w
}

// needBPF skips a test where the exact source cannot be.
func (w *watching) needBPF() {
	w.t.Helper()
	if w.first["source"] != "ebpf" {
		w.t.Cleanup(func() { w.end() })
		w.t.Skip("needs eBPF: ", w.errs.String())
	}
}

// end interrupts and returns all lines but the first.
func (w *watching) end() []map[string]any {
	w.t.Helper()
	w.signals <- syscall.SIGINT
	return w.rest()
}

func (w *watching) rest() []map[string]any {
	w.t.Helper()
	var all []map[string]any
	for line := w.next(); line != nil; line = w.next() {
		all = append(all, line)
	}
	return all
}

// next is the next line, nil at the end.
func (w *watching) next() (object map[string]any) {
	w.t.Helper()
	if w.lines.Scan() {
		require.NoError(w.t, json.Unmarshal(w.lines.Bytes(), &object), w.lines.Text())
	}
	require.NoError(w.t, w.lines.Err())
	return object
}

func number(object map[string]any, key string) uint64 { return uint64(object[key].(float64)) }

// twoCPUs are two that the test may use.
func twoCPUs(t *testing.T) (a, b cpuset.CPU) {
	t.Helper()
	own, err := sched.Affinity(0)
	require.NoError(t, err)
	if own.Len() < 2 {
		t.Skip("a migration takes two CPUs")
	}
	return own.First(), own.Last()
}

// TestWatchBurst lets threads move themselves as fast as they can.
func TestWatchBurst(t *testing.T) {
	twoCPUs(t)
	flips := 20000
	if inVM() || testing.Short() {
		flips = 1000
	}
	m := startMover(t, fmt.Sprintf("4:%d", flips))
	before := m.freeze()
	w := startWatch(t, fmt.Sprint(m.pid))
	w.needBPF()
	m.thaw()
	began := time.Now()
	m.move()
	took := time.Since(began)
	after := m.freeze()
	summary := checkSums(t, w.end(), before, after)
	t.Logf("%v moves in %v, %v without a line", summary["moves"], took, summary["lost"])
}

func TestWatchEndsWithItsTargets(t *testing.T) {
	m := startMover(t, "1")
	w := startWatch(t, fmt.Sprint(m.pid), "2147483646")
	require.NoError(t, syscall.Kill(int(m.pid), syscall.SIGKILL))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(int(m.pid), &status, 0, nil)
	require.NoError(t, err)
	lines := w.rest()
	assert.Equal(t, exit.Some, <-w.code, "one target was not there")
	assert.EqualValues(t, exit.Some, ofType(lines, "summary")[0]["exit_code"])
	assert.Contains(t, w.errs.String(), "there is no process or thread 2147483646")
}

func TestWatchFollowsTheTree(t *testing.T) {
	a, b := twoCPUs(t)
	// A shell that starts a child of its own after a word on its standard input.
	cmd := exec.Command("sh", "-c", "read word; sleep 600 & echo $!; read word; kill $!")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	w := startWatch(t, fmt.Sprint(cmd.Process.Pid), "--tree")
	w.needBPF()
	_, err = fmt.Fprintln(in)
	require.NoError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	grandchild := kernel.TID(n)
	for range 5 {
		require.NoError(t, sched.SetAffinity(grandchild, cpuset.Of(a)))
		require.NoError(t, sched.SetAffinity(grandchild, cpuset.Of(b)))
	}
	// A task that sleeps moves when it wakes.
	require.NoError(t, syscall.Kill(int(grandchild), syscall.SIGSTOP))
	require.NoError(t, syscall.Kill(int(grandchild), syscall.SIGCONT))
	counters, err := procfs.New("/").Sched(grandchild, grandchild)
	require.NoError(t, err)
	lines := w.end()
	var moves uint64
	for _, task := range ofType(lines, "task") {
		if kernel.TID(number(task, "tid")) == grandchild {
			moves = number(task, "moves")
		}
	}
	assert.GreaterOrEqual(t, moves, counters.Migrations, "from its birth on")
}

func TestWatchTable(t *testing.T) {
	m := startMover(t, "2:50")
	a, b := twoCPUs(t)
	var flips sync.WaitGroup
	ended := make(chan struct{})
	flips.Go(func() {
		for i := 0; ; i++ {
			_ = sched.SetAffinity(m.tids[0], cpuset.Of([]cpuset.CPU{a, b}[i%2]))
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	r := newHome(t).run("watch", fmt.Sprint(m.pid), "--for", "400ms")
	close(ended)
	flips.Wait()
	require.Zero(t, r.code, r.err)
	lines := strings.Split(r.out, "\n")
	assert.Equal(t, "TIME                PID     TID NAME            FROM   TO  DISTANCE", lines[0])
	assert.Regexp(t, `\n\d+ moves in [\d.]+ s, of \d+ threads?: exact`, r.out)
	assert.Contains(t, r.out, "TID  NAME")
}

// TestWatchByProc is what someone without rights gets.
func TestWatchByProc(t *testing.T) {
	kerneltest.NeedRoot(t, "to become somebody else")
	a, b := twoCPUs(t)
	m := startMover(t, "1")
	cmd := asNobody(t, "watch", fmt.Sprint(m.pid), "-o", "json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "it begins")
	text := lines.Text() + "\n"
	for range 20 {
		require.NoError(t, sched.SetAffinity(m.tids[0], cpuset.Of(a)))
		require.NoError(t, sched.SetAffinity(m.tids[0], cpuset.Of(b)))
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	for lines.Scan() {
		text += lines.Text() + "\n"
	}
	_ = cmd.Wait()
	require.Equal(t, exit.Interrupted, cmd.ProcessState.ExitCode(), errs.String())
	assert.Contains(t, errs.String(), "CAP_BPF")
	assert.Contains(t, errs.String(), "their CPUs are not known")
	objects := jsonLines(t, text)
	assert.Equal(t, "sched", objects[0]["source"])
	counts := ofType(objects, "count")
	require.NotEmpty(t, counts)
	var sum uint64
	for _, c := range counts {
		assert.Nil(t, c["from"])
		if kernel.TID(number(c, "tid")) == m.tids[0] {
			sum += number(c, "count")
		}
	}
	assert.GreaterOrEqual(t, sum, uint64(39), "it was moved 40 times, the first time perhaps to where it was")
	summary := ofType(objects, "summary")[0]
	assert.Equal(t, false, summary["exact"])
	assert.Equal(t, summary["moves"], summary["unknown_pair"])
}

func TestWatchRefuses(t *testing.T) {
	r := newHome(t).run("watch", "2147483647")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "there is no process or thread 2147483647")
	assert.Empty(t, r.out)
}

// TestWatchLeavesNothing looks for programs of ours that are still loaded.
func TestWatchLeavesNothing(t *testing.T) {
	if _, err := bpf.Loaded(); err != nil {
		t.Skip(err)
	}
	pid := sleeper(t)
	before := loadedIDs(t)
	w := startWatch(t, fmt.Sprint(pid))
	w.needBPF()
	loaded := loadedIDs(t) // another piton's may be among them, which goes as well
	maps.DeleteFunc(loaded, func(id uint32, _ bool) bool { return before[id] })
	assert.NotEmpty(t, loaded)
	w.end()
	<-w.code
	eventually(t, "its programs go", func() bool {
		now := loadedIDs(t)
		maps.DeleteFunc(now, func(id uint32, _ bool) bool { return !loaded[id] })
		return len(now) == 0
	})
}

func loadedIDs(t *testing.T) map[uint32]bool {
	t.Helper()
	all, err := bpf.Loaded()
	require.NoError(t, err)
	ids := map[uint32]bool{}
	for _, p := range all {
		if p.Name == "report_move" {
			ids[p.ID] = true
		}
	}
	return ids
}
