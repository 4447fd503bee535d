package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/kernel/kernelfake"
	"piton/internal/topology/topologytest"
)

// watch runs the headless monitor for n quick ticks.
func (h *home) watch(n int, args ...string) result {
	h.t.Helper()
	return h.run(append([]string{"--headless", "-n", strconv.Itoa(n), "-d", "100ms"}, args...)...)
}

func TestHeadlessJSON(t *testing.T) {
	pid := sleeper(t)
	r := newHome(t).watch(2, "-o", "json", "--pid", fmt.Sprint(pid, ",", os.Getpid()))
	require.Zero(t, r.code, r.err)
	lines := jsonLines(t, r.out)
	var order []string
	for _, l := range lines {
		if kind := l["type"].(string); len(order) == 0 || order[len(order)-1] != kind {
			order = append(order, kind)
		}
	}
	assert.Equal(t, []string{"host", "cpu", "task", "end", "host", "cpu", "task", "end"}, order)
	for i, host := range ofType(lines, "host") {
		assert.EqualValues(t, output.Version, host["v"])
		assert.EqualValues(t, i+1, host["tick"])
		for _, key := range []string{"time", "interval_s", "host", "load1", "mem_total_bytes", "processes", "migrations_source"} {
			assert.NotNil(t, host[key], key)
		}
	}
	for _, cpu := range ofType(lines, "cpu") {
		assert.Contains(t, cpu, "migrations")
		assert.NotEmpty(t, cpu["source"])
		if busy, known := cpu["busy"].(float64); known {
			assert.True(t, busy >= 0 && busy <= 1, "busy is a share, not %v", busy)
		}
	}
	tasks := ofType(lines, "task")
	require.Len(t, tasks, 4)
	for _, key := range []string{"pid", "tid", "user", "comm", "state", "cpu", "affinity", "nice", "policy", "rtprio",
		"cpu_percent", "migrations", "run_delay_ns"} {
		assert.NotNil(t, tasks[2][key], "%s of piton itself", key)
	}
	var sleep map[string]any
	for _, task := range tasks {
		if task["pid"].(float64) == float64(pid) {
			sleep = task
		}
	}
	require.NotNil(t, sleep)
	assert.Equal(t, "sleep", sleep["comm"])
	assert.Equal(t, "sleep 600", sleep["command"])
	assert.Equal(t, "OTHER", sleep["policy"])
}

func TestHeadlessTable(t *testing.T) {
	pid := sleeper(t)
	r := newHome(t).watch(2, "--pid", fmt.Sprint(pid), "--columns", "pid,user,cpu,command", "--ascii")
	require.Zero(t, r.code, r.err)
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	require.Len(t, lines, 7)
	assert.Contains(t, lines[0], "migrations")
	assert.Equal(t, "    PID USER       CPU COMMAND", lines[1])
	assert.Regexp(t, fmt.Sprintf(`^ *%d \S+ +\d+ sleep 600$`, pid), lines[2])
	assert.Empty(t, lines[3])
}

func TestHeadlessCSV(t *testing.T) {
	pid := sleeper(t)
	r := newHome(t).watch(2, "-o", "csv", "--pid", fmt.Sprint(pid))
	require.Zero(t, r.code, r.err)
	records, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
	require.NoError(t, err)
	require.Len(t, records, 3)
	assert.Equal(t, append([]string{"tick", "time"}, field.JSON...), records[0])
	assert.Equal(t, "1", records[1][0])
	assert.Equal(t, fmt.Sprint(pid), records[2][2])
}

func TestHeadlessChoosesAndOrders(t *testing.T) {
	sleeper(t)
	sleeper(t)
	r := newHome(t).watch(1, "-o", "json", "--filter", `comm=sleep "sleep 600"`, "--sort", "-pid")
	require.Zero(t, r.code, r.err)
	tasks := ofType(jsonLines(t, r.out), "task")
	require.GreaterOrEqual(t, len(tasks), 2)
	for i, task := range tasks {
		assert.Equal(t, "sleep", task["comm"])
		if i > 0 {
			assert.Less(t, task["pid"].(float64), tasks[i-1]["pid"].(float64))
		}
	}
	r = newHome(t).watch(1, "-o", "json", "--filter", "comm=no-such-name-here")
	assert.Zero(t, r.code)
	assert.Empty(t, ofType(jsonLines(t, r.out), "task"))
}

func TestHeadlessThreads(t *testing.T) {
	r := newHome(t).watch(1, "-o", "json", "--threads", "--pid", fmt.Sprint(os.Getpid()))
	require.Zero(t, r.code, r.err)
	assert.Greater(t, len(ofType(jsonLines(t, r.out), "task")), 1, "the Go runtime has several")
}

func TestHeadlessOfOneSample(t *testing.T) {
	pid := sleeper(t)
	r := newHome(t).watch(1, "--pid", fmt.Sprint(pid), "--columns", "pid,policy,affinity,voluntary_switches,command")
	require.Zero(t, r.code, r.err)
	lines := strings.Split(r.out, "\n")
	assert.Contains(t, lines[0], "migrations -", "a rate of one sample")
	assert.Regexp(t, fmt.Sprintf(`^ *%d OTHER +\S+ +\d+ sleep 600 *$`, pid), lines[2])
	r = newHome(t).watch(1, "--columns", "pid,comm")
	require.Zero(t, r.code, r.err)
	last := 0
	for _, line := range strings.Split(strings.TrimSpace(r.out), "\n")[2:] {
		var now int
		_, err := fmt.Sscan(line, &now)
		require.NoError(t, err, line)
		assert.Greater(t, now, last, "in the order of tid")
		last = now
	}
}

func TestHeadlessMissingPID(t *testing.T) {
	t.Parallel()
	for _, more := range [][]string{nil, {"--cpu", "0"}, {"--filter", "cpu>0"}} {
		r := newHome(t).watch(1, append(more, "--pid", "2147483647")...)
		assert.Equal(t, exit.Failed, r.code, more)
		assert.Contains(t, r.err, "there is no process or thread 2147483647", more)
		assert.Empty(t, r.out, more)
	}
	pid := fmt.Sprint(sleeper(t))
	for _, more := range [][]string{nil, {"--columns", "pid,command"}, {"-o", "json"}, {"-o", "csv"}, {"-n", "3"}} {
		r := newHome(t).watch(1, append(more, "--pid", pid+",2147483647,2147483646,2147483647")...)
		assert.Equal(t, exit.Some, r.code, more)
		assert.Equal(t, "piton: there is no process or thread 2147483647,2147483646\n", r.err, more)
		assert.Contains(t, r.out, pid, more)
	}
	m := startMover(t, "2")
	thread := m.tids[0]
	if thread == m.pid {
		thread = m.tids[1]
	}
	tid := fmt.Sprint(thread)
	r := newHome(t).watch(1, "--pid", pid+","+tid)
	assert.Equal(t, exit.Some, r.code)
	assert.Equal(t, "piton: "+tid+" is no process but a thread: --threads shows it\n", r.err)
	r = newHome(t).watch(1, "--pid", pid+","+tid, "--threads")
	assert.Zero(t, r.code, r.err)
	r = newHome(t).watch(1, "--pid", pid, "--filter", "comm=no-such-name-here", "-o", "json")
	assert.Zero(t, r.code, r.err)
	assert.Empty(t, ofType(jsonLines(t, r.out), "task"), "it is there, and not shown")
}

func TestHeadlessEndsWithItsProcesses(t *testing.T) {
	t.Parallel()
	t.Run("all", func(t *testing.T) { endsWithItsProcess(t) })
	t.Run("filter", func(t *testing.T) { endsWithItsProcess(t, "--filter", "comm=no-such-name-here") })
}

func endsWithItsProcess(t *testing.T, more ...string) {
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	read, write := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		defer write.Close()
		args := append([]string{"--headless", "-d", "100ms", "--pid", fmt.Sprint(cmd.Process.Pid)}, more...)
		code <- Main(app.IO{Args: args, Out: write, Err: &errs})
	}()
	_, err := read.Read(make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	_, err = io.Copy(io.Discard, read)
	require.NoError(t, err)
	assert.Equal(t, exit.Done, <-code, errs.String())
}

// TestHostileNames runs a program whose name would upset a terminal.
func TestHostileNames(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	content, err := os.ReadFile(sleep)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "a) (\x1b[7m\n\u009bx\xff")
	require.NoError(t, os.WriteFile(name, content, 0o755))
	pid := child(t, name, "600")
	for _, format := range []string{"table", "json", "csv"} {
		r := newHome(t).watch(1, "-o", format, "--pid", fmt.Sprint(pid)) // run looks for escape bytes
		require.Zero(t, r.code, r.err)
		assert.NotContains(t, r.out, "\u009b", format)
		assert.Contains(t, r.out, "a) (", format)
		if format == "json" {
			task := ofType(jsonLines(t, r.out), "task")[0]
			assert.Equal(t, "a) (\x1b[7m\n\u009bx\ufffd", task["comm"])
		}
	}
}

func TestHostRoot(t *testing.T) {
	tree := topologytest.Host(t, "2c")
	h := newHome(t)
	none := h.run("--host-root", "/nonexistent", "topo")
	assert.Equal(t, exit.Failed, none.code)
	assert.Equal(t, "piton: --host-root /nonexistent: there is neither proc nor sys below it\n", none.err)
	r := h.run("--host-root", tree, "topo", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Len(t, ofType(jsonLines(t, r.out), "cpu"), 2)
	h.env = append(h.env, "PITON_HOST_ROOT="+tree)
	again := h.run("topo", "-o", "json")
	assert.Equal(t, r, again)
	for _, args := range []string{"pin 1 --cpu 0", "nice 1 5", "undo", "journal", "run -- true", "bench nqueens",
		"--headless --pid 1 --nice 3", "pin sh"} {
		r := h.run(strings.Fields(args)...)
		assert.Equal(t, exit.NotPermitted, r.code, "piton %s: %s", args, r.err)
		assert.NotEmpty(t, r.err)
	}
}

// TestHostRootStaysInside is that links of a tree lead to nothing outside of it, and that
// only its regular files are read.
func TestHostRootStaysInside(t *testing.T) {
	root, outside := topologytest.Host(t, "2c"), t.TempDir()
	for name, text := range map[string]string{"loadavg": "7.00 7.00 7.00 1/2 3\n", "present": "0-5\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(text), 0o644))
	}
	for _, name := range []string{"proc/uptime", "proc/loadavg", "sys/devices/system/cpu/present"} {
		require.NoError(t, os.RemoveAll(filepath.Join(root, name)))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "proc/uptime"), 0o644))
	require.NoError(t, os.Symlink(filepath.Join(outside, "loadavg"), filepath.Join(root, "proc/loadavg")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "present"), filepath.Join(root, "sys/devices/system/cpu/present")))
	h := newHome(t)
	r := h.run("--host-root", root, "--headless", "-n", "1", "-d", "100ms", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "/proc/uptime: not a regular file")
	assert.Contains(t, r.err, "/proc/loadavg: no such file or directory")
	assert.NotContains(t, r.out, `"load1":7`)
	assert.Len(t, ofType(jsonLines(t, h.run("--host-root", root, "topo", "--all", "-o", "json").out), "cpu"), 2)
}

// TestTopoAllowed is that the CPUs outside piton's cpuset are told from the others.
func TestTopoAllowed(t *testing.T) {
	tree := topologytest.Host(t, "2c")
	require.NoError(t, kernelfake.WriteFiles(tree, map[string]string{"proc/self/cpuset": "/part\n", "sys/fs/cgroup/part/cpuset.cpus.effective": "1\n"}))
	h := newHome(t)
	rows := csvRows(t, h.run("--host-root", tree, "topo", "--all", "-o", "csv").out)
	require.Len(t, rows, 2)
	assert.Equal(t, []string{"true", "false", "true", "true"}, []string{rows[0]["online"], rows[0]["allowed"], rows[1]["online"], rows[1]["allowed"]})
	cpus := ofType(jsonLines(t, h.run("--host-root", tree, "topo", "-o", "json").out), "cpu")
	require.Len(t, cpus, 1)
	assert.Equal(t, true, cpus[0]["allowed"])
}

func TestInterrupted(t *testing.T) {
	signals := make(chan os.Signal, 1)
	read, write := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		defer write.Close()
		code <- Main(app.IO{Args: []string{"--headless", "-d", "100ms", "-o", "json"}, Out: write, Err: &errs, Signals: signals})
	}()
	one := make([]byte, 1)
	_, err := read.Read(one)
	require.NoError(t, err)
	signals <- syscall.SIGINT
	_, err = io.Copy(io.Discard, read)
	require.NoError(t, err)
	assert.Equal(t, exit.Interrupted, <-code)
	assert.Empty(t, errs.String())
}

// TestSignalsEndTheProgram sends real ones to a real process.
func TestSignalsEndTheProgram(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		cmd := newHome(t).program("--headless", "-d", "100ms", "-o", "json", "--filter", "pid=1")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		require.NoError(t, cmd.Start())
		_, err = out.Read(make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(sig))
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		assert.Equal(t, 128+int(sig), cmd.ProcessState.ExitCode(), sig)
		assert.Empty(t, errs.String(), sig)
	}
}

// TestClosedOutput is piton --headless | head -1.
func TestClosedOutput(t *testing.T) {
	cmd := newHome(t).program("--headless", "-d", "100ms")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, out.Close())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Fatal("it goes on although nobody reads")
	}
	assert.Empty(t, errs.String())
}

func TestFullOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	defer full.Close()
	var errs bytes.Buffer
	for _, args := range []string{"topo", "topo -o json", "topo -o csv", "--headless -n 1", "--headless -n 1 -o json -d 100ms", "irq list --now -o csv",
		"help", "help pin", "--help", "pin --help", "completion bash"} {
		code := Main(app.IO{Args: strings.Fields(args), Out: full, Err: &errs})
		assert.Equal(t, exit.Failed, code, args)
		assert.Contains(t, errs.String(), "no space left", args)
		errs.Reset()
	}
	// What was chosen could not be told, so nothing is changed.
	h, pid := newHome(t), sleeper(t)
	before, level := affinityOf(t, pid), levelOf(t, pid)
	code := Main(app.IO{Args: []string{"pin", fmt.Sprint(pid), "-o", "json"}, Env: h.env, Out: full, Err: &errs})
	assert.Equal(t, exit.Failed, code)
	assert.Equal(t, before, affinityOf(t, pid))
	assert.Contains(t, h.run("undo").err, "nothing to undo")
	// What is told afterwards does not undo it: it was changed, and is recorded.
	errs.Reset()
	code = Main(app.IO{Args: []string{"ionice", fmt.Sprint(pid), "best-effort:5"}, Env: h.env, Out: full, Err: &errs})
	assert.Equal(t, exit.Some, code)
	assert.Contains(t, errs.String(), "it was changed, and piton journal shows it")
	assert.Equal(t, exit.Done, h.run("undo").code)
	assert.Equal(t, level, levelOf(t, pid))
}
