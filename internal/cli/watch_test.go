package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/bpf/bpftest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/watch"
)

// moverThreads makes the test binary a process with so many threads that
// spin; with a number after a colon, each moves itself so often whenever a byte
// comes on standard input. It ends when that does.
const moverThreads = "PITON_TEST_MOVER"

// playMover is the life of a mover.
func playMover(role string) {
	first, second, _ := strings.Cut(role, ":")
	threads, _ := strconv.Atoi(first)
	flips, _ := strconv.Atoi(second)
	runtime.GOMAXPROCS(threads + 2)
	var turn, spinning atomic.Int32
	tids, done := make(chan int, threads), make(chan bool, threads) // nobody waits to send
	for range threads {
		go func() {
			runtime.LockOSThread()
			all, _ := sched.Affinity(0)
			cpus := all.CPUs()
			tids <- syscall.Gettid()
			spinning.Add(1) // from here on it never sleeps
			for did := int32(0); ; {
				if flips == 0 || turn.Load() == did {
					continue
				}
				did++
				for i := range flips {
					_ = sched.SetAffinity(0, cpuset.Of(cpus[i%2*(len(cpus)-1)]))
				}
				_ = sched.SetAffinity(0, all)
				done <- true
			}
		}()
	}
	for int(spinning.Load()) < threads {
		time.Sleep(time.Millisecond)
	}
	for range threads {
		fmt.Print(<-tids, " ")
	}
	fmt.Println()
	for one := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(one); err != nil {
			return
		}
		turn.Add(1)
		for range threads {
			<-done
		}
		fmt.Println("moved")
	}
}

// mover is a running one.
type mover struct {
	t    *testing.T
	pid  kernel.TID
	tids []kernel.TID // of its spinning threads
	in   io.Writer
	out  *bufio.Reader
}

func startMover(t *testing.T, role string) *mover {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	// Go would interrupt the threads that spin.
	cmd.Env = append(os.Environ(), moverThreads+"="+role, "GODEBUG=asyncpreemptoff=1", "GOGC=off")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	m := &mover{t: t, pid: kernel.TID(cmd.Process.Pid), in: in, out: bufio.NewReader(out)}
	for _, word := range strings.Fields(m.line()) {
		tid, err := parsePID(word)
		require.NoError(t, err)
		m.tids = append(m.tids, tid)
	}
	return m
}

func (m *mover) line() string {
	m.t.Helper()
	line, err := m.out.ReadString('\n')
	require.NoError(m.t, err)
	return line
}

// move lets the threads move themselves, and waits until they did.
func (m *mover) move() {
	m.t.Helper()
	_, err := m.in.Write([]byte{1})
	require.NoError(m.t, err)
	require.Equal(m.t, "moved\n", m.line())
}

// freeze stops the mover and returns se.nr_migrations of each thread.
func (m *mover) freeze() map[kernel.TID]uint64 {
	m.t.Helper()
	require.NoError(m.t, syscall.Kill(int(m.pid), syscall.SIGSTOP))
	fs := procfs.New("/")
	var all map[kernel.TID]uint64
	eventually(m.t, "it stops", func() bool {
		all = map[kernel.TID]uint64{}
		tids, err := fs.Threads(m.pid)
		require.NoError(m.t, err)
		for _, tid := range tids {
			st, err := fs.ThreadStat(m.pid, tid)
			require.NoError(m.t, err)
			counters, err := fs.Sched(m.pid, tid)
			require.NoError(m.t, err)
			if st.State != 'T' {
				return false
			}
			all[tid] = counters.Migrations
		}
		return true
	})
	return all
}

func (m *mover) thaw() {
	m.t.Helper()
	require.NoError(m.t, syscall.Kill(int(m.pid), syscall.SIGCONT))
}

// running waits until all the spinning threads do: one that still sleeps does
// not move when it is told to, but when it wakes.
func (m *mover) running() {
	m.t.Helper()
	fs := procfs.New("/")
	for _, tid := range m.tids {
		eventually(m.t, "it runs", func() bool {
			st, err := fs.ThreadStat(m.pid, tid)
			return err == nil && st.State == 'R'
		})
	}
}

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
		w.code <- Main(IO{Args: append([]string{"watch", "-o", "json"}, args...), Out: write, Err: &w.errs, Signals: w.signals})
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
	for w.lines.Scan() {
		var object map[string]any
		require.NoError(w.t, json.Unmarshal(w.lines.Bytes(), &object), w.lines.Text())
		all = append(all, object)
	}
	require.NoError(w.t, w.lines.Err())
	return all
}

func number(object map[string]any, key string) uint64 { return uint64(object[key].(float64)) }

// checkSums holds what was watched against the kernel's own counters.
func checkSums(t *testing.T, lines []map[string]any, before, after map[kernel.TID]uint64) (summary map[string]any) {
	t.Helper()
	summaries := ofType(lines, "summary")
	require.Len(t, summaries, 1)
	summary = summaries[0]
	var growth, tasks, pairs, classes uint64
	for tid := range after {
		growth += after[tid] - before[tid]
	}
	moved := map[kernel.TID]uint64{}
	for _, task := range ofType(lines, "task") {
		moved[kernel.TID(number(task, "tid"))] = number(task, "moves")
		tasks += number(task, "moves")
	}
	for tid := range after {
		assert.Equal(t, after[tid]-before[tid], moved[tid], "thread %d", tid)
	}
	for _, pair := range ofType(lines, "pair") {
		assert.NotEqual(t, pair["from"], pair["to"])
		pairs += number(pair, "count")
	}
	for _, n := range summary["by_distance"].(map[string]any) {
		classes += uint64(n.(float64))
	}
	assert.Equal(t, growth, number(summary, "moves"), "nr_migrations")
	assert.Equal(t, growth, tasks)
	hides, err := bpf.HidesTasks()
	require.NoError(t, err)
	bpftest.Told(t, growth, pairs, hides, "moves from CPU to CPU")
	unseen := number(summary, "unseen")
	assert.Equal(t, growth, pairs+unseen)
	assert.Equal(t, growth, classes+unseen)
	assert.Equal(t, unseen, number(summary, "unknown_pair"))
	assert.Equal(t, growth, uint64(len(ofType(lines, "move")))+number(summary, "lost")+unseen, "each has a line or is counted as lost")
	return summary
}

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

// exactness is how often, and with how many flips, exactness is tried.
// Ten runs of 2,000 are what is asked for; emulated CPUs get fewer.
func exactness() (runs, flips int) {
	switch {
	case inVM():
		return 1, 400
	case testing.Short():
		return 2, 200
	}
	return 10, 2000
}

// TestWatchIsExact flips the threads of a process from outside and then leaves
// them to the scheduler, which has too few CPUs for them.
func TestWatchIsExact(t *testing.T) {
	a, b := twoCPUs(t)
	topo, err := topology.Read("/")
	require.NoError(t, err)
	runs, flips := exactness()
	whole := 0
	for run := range runs {
		m := startMover(t, "4")
		other := spinner(t)
		all, err := sched.Affinity(m.tids[0])
		require.NoError(t, err)
		for _, tid := range m.tids {
			require.NoError(t, sched.SetAffinity(tid, cpuset.Of(a)))
		}
		before := m.freeze()
		w := startWatch(t, fmt.Sprint(m.pid))
		w.needBPF()
		m.thaw()
		m.running()
		for i := range flips {
			to := b
			if i/len(m.tids)%2 == 1 {
				to = a
			}
			require.NoError(t, sched.SetAffinity(m.tids[i%len(m.tids)], cpuset.Of(to)))
		}
		flipped := m.freeze()
		m.thaw()
		for _, tid := range m.tids {
			require.NoError(t, sched.SetAffinity(tid, all))
		}
		time.Sleep(150 * time.Millisecond)
		require.NoError(t, sched.SetAffinity(other, cpuset.Of(a)))
		after := m.freeze()
		lines := w.end()
		assert.Equal(t, ExitInterrupted, <-w.code)
		summary := checkSums(t, lines, before, after)
		assert.EqualValues(t, 130, summary["exit_code"])
		assert.Equal(t, true, summary["exact"])
		if summary["unseen"].(float64) == 0 {
			checkFlips(t, topo, lines, m.tids, before, flipped, flips, a, b)
			whole++
		}
		t.Logf("run %d: %v moves, %d of them flips", run+1, summary["moves"], flips)
		m.thaw()
	}
	assert.Positive(t, whole, "in no run eBPF was told of every move")
}

// checkFlips looks at the threads that were flipped, as long as they were: each
// went from a to b and back, and so often as it was told.
func checkFlips(t *testing.T, topo *topology.Topology, lines []map[string]any, tids []kernel.TID, before, flipped map[kernel.TID]uint64, flips int, a, b cpuset.CPU) {
	t.Helper()
	var there, back uint64
	seen := map[kernel.TID]uint64{}
	for _, move := range ofType(lines, "move") {
		tid := kernel.TID(number(move, "tid"))
		if !slices.Contains(tids, tid) || seen[tid] == flipped[tid]-before[tid] {
			continue
		}
		seen[tid]++
		from, to := cpuset.CPU(number(move, "from")), cpuset.CPU(number(move, "to"))
		assert.Equal(t, topo.Distance(from, to).String(), move["distance"])
		switch [2]cpuset.CPU{from, to} {
		case [2]cpuset.CPU{a, b}:
			there++
		case [2]cpuset.CPU{b, a}:
			back++
		}
	}
	assert.EqualValues(t, flips, there+back, "one move a flip")
	assert.EqualValues(t, flips/2, there)
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
	assert.Equal(t, ExitSome, <-w.code, "one target was not there")
	assert.EqualValues(t, ExitSome, ofType(lines, "summary")[0]["exit_code"])
	assert.Contains(t, w.errs.String(), "there is no process or thread 2147483646")
}

func TestWatchFollowsTheTree(t *testing.T) {
	a, b := twoCPUs(t)
	// A shell that starts a child of its own after a word on its standard input.
	cmd := exec.Command("sh", "-c", "read word; sleep 60 & echo $!; read word; kill $!")
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
	grandchild, err := parsePID(strings.TrimSpace(line))
	require.NoError(t, err)
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
	go func() {
		for i := 0; i < 200; i++ {
			_ = sched.SetAffinity(m.tids[0], cpuset.Of([]cpuset.CPU{a, b}[i%2]))
			time.Sleep(time.Millisecond)
		}
	}()
	r := newHome(t).run("watch", fmt.Sprint(m.pid), "--for", "400ms")
	require.Zero(t, r.code, r.err)
	lines := strings.Split(r.out, "\n")
	assert.Equal(t, "TIME                PID     TID NAME            FROM   TO  DISTANCE", lines[0])
	assert.Regexp(t, `\n\d+ moves in 0\.\d+ s, of \d+ threads?: exact`, r.out)
	assert.Contains(t, r.out, "TID  NAME")
}

// TestWatchByProc is what someone without rights gets.
func TestWatchByProc(t *testing.T) {
	if kernel.EUID() != 0 {
		t.Skip("needs root to become somebody else")
	}
	a, b := twoCPUs(t)
	m := startMover(t, "1")
	cmd := asNobody(t, "watch", fmt.Sprint(m.pid), "--for", "1200ms", "-o", "json")
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
	for lines.Scan() {
		text += lines.Text() + "\n"
	}
	require.NoError(t, cmd.Wait(), errs.String())
	assert.Contains(t, errs.String(), "CAP_BPF")
	assert.Contains(t, errs.String(), "from where to where is unknown")
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
	assert.Equal(t, ExitFailed, r.code)
	assert.Contains(t, r.err, "there is no process or thread 2147483647")
	assert.Empty(t, r.out)
}

// slowSource is a source of single moves that a test feeds.
type slowSource struct{ watch.Source }

func (slowSource) Kind() sample.Source { return sample.SourceBPF }
func (slowSource) Single() bool        { return true }

// stuck is an output that takes nothing until it is let go.
type stuck struct {
	bytes.Buffer
	free chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.free
	return s.Buffer.Write(b)
}

func TestASlowReaderLosesLinesButNoCounts(t *testing.T) {
	topo, err := topology.Read("/")
	require.NoError(t, err)
	out := &stuck{free: make(chan struct{})}
	a := &app{IO: IO{Out: out, Err: io.Discard}, global: global{hostRoot: "/"}}
	l := a.newWatchLog(slowSource{}, &watch.Totals{Topo: topo}, true)
	require.NoError(t, l.out.Close())
	l.out = watch.NewOutlet(out, 2000)
	var b watch.Batch
	for range 1000 {
		b.Moves = append(b.Moves, watch.Move{TID: 1, TGID: 1, From: 0, To: 1})
	}
	require.NoError(t, l.batch(&b))
	close(out.free)
	require.NoError(t, l.end(time.Second, nil))
	lines := jsonLines(t, out.String())
	summary := ofType(lines, "summary")[0]
	assert.EqualValues(t, 1000, summary["moves"])
	assert.Greater(t, number(summary, "lost_output"), uint64(900))
	assert.Equal(t, summary["lost"], summary["lost_output"])
	assert.EqualValues(t, 1000, uint64(len(ofType(lines, "move")))+number(summary, "lost"))
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
	during := loadedIDs(t)
	assert.Greater(t, len(during), len(before))
	w.end()
	<-w.code
	eventually(t, "its programs go", func() bool {
		for id := range loadedIDs(t) {
			if during[id] && !before[id] {
				return false
			}
		}
		return true
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
