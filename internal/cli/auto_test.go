package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// pacerRole makes the test binary a process that is fast on some CPUs. The value is a file
// that names them, and the argument the file in which it counts.
const pacerRole = "PITON_TEST_PACER"

// The pacer's main goroutine keeps the main thread, the one that tests pin.
func init() {
	if os.Getenv(pacerRole) != "" {
		runtime.LockOSThread()
	}
}

// playPacer counts 1,000 a second on the good CPUs, and a tenth of that on others, so that no
// load of the machine hides it; for ten minutes at most.
func playPacer(good, path string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	self, thread, count := kernel.TID(os.Getpid()), kernel.TID(syscall.Gettid()), 0.0
	began := time.Now()
	for last := began; last.Sub(began) < 10*time.Minute; {
		time.Sleep(time.Millisecond)
		st, err := procfs.New("/").ThreadStat(self, thread)
		if err != nil {
			panic(err)
		}
		list, _ := os.ReadFile(good)
		cpus, err := cpuset.Parse(string(list))
		if err != nil {
			panic(err)
		}
		now, rate := time.Now(), 100.0
		if cpus.Has(cpuset.CPU(st.LastCPU)) {
			rate = 1000
		}
		count += now.Sub(last).Seconds() * rate
		last = now
		_, _ = f.WriteAt(fmt.Appendf(nil, "%020.3f", count), 0)
	}
}

// pacer starts such a process, whose metric is a file; turn names other CPUs.
func pacer(t *testing.T, good cpuset.Set) (pid kernel.TID, metric string, turn func(good cpuset.Set)) {
	t.Helper()
	dir := t.TempDir()
	file, list := filepath.Join(dir, "count"), filepath.Join(dir, "good")
	turn = func(good cpuset.Set) {
		require.NoError(t, os.WriteFile(list+"2", []byte(good.String()), 0o600))
		require.NoError(t, os.Rename(list+"2", list))
	}
	turn(good)
	require.NoError(t, os.WriteFile(file, []byte("0"), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, file)
	cmd.Env = append(os.Environ(), pacerRole+"="+list)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "it counts", func() bool {
		b, err := os.ReadFile(file)
		return err == nil && len(b) > 1
	})
	return kernel.TID(cmd.Process.Pid), "file:" + file, turn
}

// severalCPUs are those that this process may use, at least two.
func severalCPUs(t *testing.T) cpuset.Set {
	t.Helper()
	all, err := sched.Affinity(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	if all.Len() < 2 {
		t.Skip("needs two CPUs to choose from")
	}
	return all
}

// lastOfAuto is the last line, of type auto.
func lastOfAuto(t *testing.T, r result) map[string]any {
	t.Helper()
	lines := jsonLines(t, r.out)
	require.NotEmpty(t, lines, r.err)
	end := lines[len(lines)-1]
	require.Equal(t, "auto", end["type"], "%v %s", end, r.err)
	return end
}

func TestAutoFindsTheCPU(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	all := severalCPUs(t)
	good := cpuset.Of(all.Last())
	h, v := newHome(t), newValidator(t)
	pid, metric, _ := pacer(t, good)
	require.NoError(t, sched.SetAffinity(pid, all.AndNot(good)), "where it is slow")
	before := affinityOf(t, pid)
	r := h.run("auto", fmt.Sprint(pid), "--metric", metric, "-o", "json")
	require.Zero(t, r.code, r.err)
	v.lines(r.out, r.err, "auto")
	end := lastOfAuto(t, r)
	assert.NotEqual(t, "kernel", end["kept"])
	assert.Greater(t, end["delta"], 0.2, "ten times as fast: %v", end)
	assert.Equal(t, end["cpus"], affinityOf(t, pid))
	assert.Equal(t, metric, end["metric"])
	require.NotNil(t, end["journal"])
	assert.Zero(t, h.run("undo", fmt.Sprint(end["journal"])).code)
	assert.Equal(t, before, affinityOf(t, pid))
}

func TestAutoLeavesWhatItCannotImprove(t *testing.T) {
	if testing.Short() {
		t.Skip("takes up to half a minute")
	}
	all := severalCPUs(t)
	h := newHome(t)
	pid, metric, _ := pacer(t, all)
	before := affinityOf(t, pid)
	r := h.run("auto", fmt.Sprint(pid), "--metric", metric)
	require.Zero(t, r.code, r.err)
	if strings.Contains(r.out, "Nothing is better") { // in one of thirty searches something is by chance
		assert.Equal(t, before, affinityOf(t, pid))
		assert.Contains(t, h.run("journal").out, "nothing changed")
	}
}

// TestAutoRestoresWhenKilled kills piton while a candidate is in force.
func TestAutoRestoresWhenKilled(t *testing.T) {
	t.Parallel()
	all := severalCPUs(t)
	h := newHome(t)
	pid, metric, _ := pacer(t, all)
	before := affinityOf(t, pid)
	piton := h.program("auto", fmt.Sprint(pid), "--metric", metric)
	require.NoError(t, piton.Start())
	defer func() { _ = piton.Wait() }()
	eventually(t, "a candidate is tried", func() bool { return affinityOf(t, pid) != before })

	r := h.run("pin", fmt.Sprint(pid), "--cpu", all.String())
	assert.Equal(t, exit.Failed, r.code, "%s%s", r.out, r.err)
	assert.Contains(t, r.out, "a search that is under way")
	r = h.run("auto", fmt.Sprint(pid), "--metric", metric)
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "a search that is under way")

	guard := h.guardOf()
	eventually(t, "a candidate is in force", func() bool { return affinityOf(t, pid) != before })
	require.NoError(t, piton.Process.Kill())
	gone(t, guard)
	assert.Equal(t, before, affinityOf(t, pid))
	assert.Contains(t, h.run("journal").out, "undone by guard")
}

// TestAutoIsInterrupted presses ^C.
func TestAutoIsInterrupted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	pid, metric, _ := pacer(t, severalCPUs(t))
	before := affinityOf(t, pid)
	piton := h.program("auto", fmt.Sprint(pid), "--metric", metric, "-o", "json")
	var out strings.Builder
	piton.Stdout = &out
	require.NoError(t, piton.Start())
	eventually(t, "a candidate is tried", func() bool { return affinityOf(t, pid) != before })
	require.NoError(t, piton.Process.Signal(syscall.SIGINT))
	_ = piton.Wait()
	assert.Equal(t, 130, piton.ProcessState.ExitCode())
	assert.Equal(t, before, affinityOf(t, pid))
	end := lastOfAuto(t, result{out: out.String()})
	assert.Equal(t, "kernel", end["kept"])
	assert.NotNil(t, end["error"])
}

func TestAutoOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	pid, metric, _ := pacer(t, severalCPUs(t))
	piton := h.program("auto", fmt.Sprint(pid), "--metric", metric)
	var errs strings.Builder
	piton.Stderr = &errs
	require.NoError(t, piton.Start())
	before := affinityOf(t, pid)
	eventually(t, "a candidate is tried", func() bool { return affinityOf(t, pid) != before })
	require.NoError(t, syscall.Kill(int(pid), syscall.SIGKILL))
	_ = piton.Wait()
	assert.Equal(t, exit.Failed, piton.ProcessState.ExitCode())
	assert.Equal(t, 1, strings.Count(errs.String(), "ended"), "one sentence: %s", errs.String())
}

func TestAutoRefuses(t *testing.T) {
	t.Parallel()
	h, pid := newHome(t), fmt.Sprint(sleeper(t))
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"auto", exit.Usage, "a process or a command"},
		{"auto 2147483646", exit.Failed, "no process"},
		{"auto " + pid + " --metric speed", exit.Usage, `unknown rate "speed"`},
		{"auto " + pid + " --metric run-delay", exit.Usage, "less of it is better"},
		{"auto " + pid + " --metric file:/nonexistent", exit.Failed, "no such file"},
		{"auto " + pid + " --budget 10ms", exit.Usage, "1s to"},
		{"auto " + pid, exit.Failed, "name one with --metric"},
		{"auto -- /nonexistent/program", exit.Failed, "cannot be run"},
		{"auto --budget 1s -- /nonexistent/program", exit.Usage, "which was not started"},
	} {
		r := h.run(strings.Fields(tt.args)...)
		assert.Equal(t, tt.code, r.code, "%s: %s", tt.args, r.err)
		assert.Contains(t, r.err, tt.says, tt.args)
	}
}

// TestAutoWatches turns a process around that was placed.
func TestAutoWatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	all := severalCPUs(t)
	h, v := newHome(t), newValidator(t)
	pid, metric, turn := pacer(t, cpuset.Of(all.Last()))
	require.NoError(t, sched.SetAffinity(pid, all.AndNot(cpuset.Of(all.Last()))))
	piton := h.program("auto", fmt.Sprint(pid), "--metric", metric, "--watch", "5s", "-o", "json")
	out, err := piton.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, piton.Start())
	defer func() { _ = piton.Process.Kill(); _ = piton.Wait() }()
	ends, reverted := 0, false
	for lines := bufio.NewScanner(out); ends < 2 && lines.Scan(); {
		v.lines(lines.Text(), "", "auto")
		line := jsonLines(t, lines.Text())[0]
		switch line["type"] {
		case "auto":
			if ends++; ends == 1 {
				require.NotEqual(t, "kernel", line["kept"], "%v", line)
				turn(all.AndNot(cpuset.Of(all.Last())))
			}
		case "look":
			reverted = reverted || line["reverted"].(bool)
		}
	}
	assert.True(t, reverted)
	assert.Equal(t, 2, ends, "it has searched again")
	assert.Equal(t, all.AndNot(cpuset.Of(all.Last())).String(), affinityOf(t, pid), "where it is fast now, as it was before")
	said := h.run("journal", "-o", "json").out
	for _, evidence := range []string{" periods by " + metric, "auto looks at ", "auto confirms: ", `"reason":"auto: kernel kept`} {
		assert.Contains(t, said, evidence)
	}
}
