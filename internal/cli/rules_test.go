package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/kernel"
)

// rulesRun is piton rules run as a process of its own.
type rulesRun struct {
	cmd  *exec.Cmd
	pid  kernel.TID
	file string
	errs *locked
	out  *locked
	mu   sync.Mutex
}

// locked is a buffer that one goroutine writes and others read.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startRules starts it with a file, and waits until it meets processes.
func startRules(t *testing.T, h *home, text string, args ...string) *rulesRun {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.toml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	d := &rulesRun{cmd: h.program(append([]string{"rules", "run", file, "-o", "json"}, args...)...), file: file}
	d.start(t)
	return d
}

// start starts it, and waits until it meets processes.
func (d *rulesRun) start(t *testing.T) {
	t.Helper()
	d.errs, d.out = &locked{}, &locked{}
	d.cmd.Stdout, d.cmd.Stderr = d.out, d.errs
	require.NoError(t, d.cmd.Start())
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(syscall.SIGTERM) // so that it removes its lock
		late := time.AfterFunc(time.Minute, func() { _ = d.cmd.Process.Kill() })
		d.wait()
		late.Stop()
	})
	d.pid = kernel.TID(d.cmd.Process.Pid)
	eventually(t, "it runs", func() bool { return d.event("started") != nil })
}

// wait waits for its end, as often as wanted.
func (d *rulesRun) wait() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd.ProcessState == nil {
		_ = d.cmd.Wait()
	}
	return d.cmd.ProcessState.ExitCode()
}

// lines are those of a type that it has printed whole.
func (d *rulesRun) lines(kind string) []map[string]any {
	var out []map[string]any
	for line := range strings.Lines(d.out.String()) {
		var object map[string]any
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &object) == nil && object["type"] == kind {
			out = append(out, object)
		}
	}
	return out
}

// event is the last of a kind, nil if there was none.
func (d *rulesRun) event(kind string) map[string]any {
	var last map[string]any
	for _, l := range d.lines("daemon") {
		if l["event"] == kind {
			last = l
		}
	}
	return last
}

// done are the rules that were applied to a process.
func (d *rulesRun) done(pid kernel.TID) []string {
	var names []string
	for _, l := range d.lines("applied") {
		if l["pid"] == float64(pid) && l["status"] == "done" {
			names = append(names, l["rule"].(string))
		}
	}
	return names
}

// copyOf copies a program under another name, so that only the test's processes have it.
func copyOf(t *testing.T, program, dir, name string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	require.NoError(t, err)
	from, err := os.Open(path)
	require.NoError(t, err)
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	return to.Name()
}

// levelRule is a file of one rule, of what every user may both set and undo.
func levelRule(name, comm string, level int) string {
	return fmt.Sprintf("version = 1\n[[rule]]\nname = %q\ncomm = %q\nioprio = 'be:%d'\n", name, comm, level)
}

// own is a name of processes that no other run of the tests has.
func own(name string) string { return fmt.Sprintf("pt%d-%s", os.Getpid(), name) }

// TestRulesRun meets processes that run already and that start, once each, and undoes it.
func TestRulesRun(t *testing.T) {
	h, dir := newHome(t), t.TempDir()
	program := copyOf(t, "sleep", dir, own("1"))
	before := child(t, program, "600")
	d := startRules(t, h, levelRule("one", own("1"), 3))
	after := child(t, program, "600")
	becomes := child(t, "sh", "-c", "sleep 0.1; exec "+program+" 600")
	for _, pid := range []kernel.TID{before, after, becomes} {
		eventually(t, "it has its rule", func() bool { return len(d.done(pid)) > 0 })
		assert.Equal(t, []string{"one"}, d.done(pid))
		assert.Equal(t, 3, levelOf(t, pid))
	}
	r := h.run("journal", "1") // of one process, or of all that were met at once
	assert.Contains(t, r.out, own("1"))

	r = h.run("rules", "run", d.file)
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, fmt.Sprintf("runs already: process %d, piton rules run", d.pid))

	ended := child(t, program, "600")
	eventually(t, "it has its rule", func() bool { return len(d.done(ended)) > 0 })
	require.NoError(t, syscall.Kill(int(ended), syscall.SIGKILL))

	r = h.run("rules", "stop", "--undo")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, fmt.Sprintf("process %d has ended: piton rules run", d.pid))
	assert.Zero(t, d.wait(), d.errs)
	assert.NotNil(t, d.event("stopped"))
	for _, pid := range []kernel.TID{before, after, becomes} {
		assert.NotEqual(t, 3, levelOf(t, pid))
	}
	r = h.run("rules", "stop")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "does not run")
	r = h.run("rules", "stop", "--undo")
	assert.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "nothing to undo")
}

// TestRulesStopOfAStoppedDaemon: one that was stopped (SIGSTOP) ends as any other.
func TestRulesStopOfAStoppedDaemon(t *testing.T) {
	h := newHome(t)
	d := startRules(t, h, levelRule("one", own("stopped"), 3), "--source", "proc")
	stop(t, d.pid)
	r := h.run("rules", "stop")
	require.Zero(t, r.code, r.err)
	assert.Zero(t, d.wait(), d.errs)
	assert.NotNil(t, d.event("stopped"))
}

// TestRulesWithoutEBPF has the process connector, or only scans.
func TestRulesWithoutEBPF(t *testing.T) {
	h := newHome(t)
	program := copyOf(t, "sleep", t.TempDir(), own("2"))
	d := startRules(t, h, levelRule("one", own("2"), 3), "--source", "proc")
	assert.NotEqual(t, "eBPF", d.event("started")["source"])
	pid := child(t, program, "600")
	eventually(t, "it has its rule", func() bool { return len(d.done(pid)) > 0 })
	assert.Equal(t, 3, levelOf(t, pid))
}

// TestRulesOfForks is that a worker which only forks has its rule, too.
func TestRulesOfForks(t *testing.T) {
	h := newHome(t)
	shell := copyOf(t, "sh", t.TempDir(), own("3"))
	d := startRules(t, h, levelRule("one", own("3"), 3))
	cmd := exec.Command(shell, "-c", "exec 3<&0; echo $$; (read y <&3; :) & echo $!; wait")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var first, forked kernel.TID
	_, err = fmt.Fscan(out, &first, &forked)
	require.NoError(t, err)
	for _, pid := range []kernel.TID{first, forked} {
		eventually(t, "it has the level", func() bool { return levelOf(t, pid) == 3 })
	}
	assert.LessOrEqual(t, len(d.done(forked)), 1, "inherited, or set once")
}

// TestRulesReload reads the file again; one with mistakes changes nothing, nor does one
// that is not there.
func TestRulesReload(t *testing.T) {
	h := newHome(t)
	program := copyOf(t, "sleep", t.TempDir(), own("4"))
	d := startRules(t, h, levelRule("one", own("4"), 3))
	refusals := func() (n int) {
		for _, l := range d.lines("daemon") {
			if l["event"] == "refused" {
				n++
			}
		}
		return n
	}
	works := func() {
		t.Helper()
		pid := child(t, program, "600")
		eventually(t, "the old rule stays", func() bool { return len(d.done(pid)) > 0 })
		assert.Equal(t, []string{"one"}, d.done(pid))
	}
	require.NoError(t, os.WriteFile(d.file, []byte("version = 1\n[[rule]]\nname = \"one\"\nnise = 3\n"), 0o600))
	works() // until it is told to read it
	require.NoError(t, syscall.Kill(int(d.pid), syscall.SIGHUP))
	eventually(t, "the file is refused", func() bool { return refusals() == 1 })
	assert.Contains(t, d.event("refused")["message"], "line 4, column 1: there is no setting \"rule.nise\"; the 1 rules of before stay in force")
	works()
	require.NoError(t, os.Remove(d.file))
	require.NoError(t, syscall.Kill(int(d.pid), syscall.SIGHUP))
	eventually(t, "no file is refused", func() bool { return refusals() == 2 })
	works()

	old := child(t, program, "600")
	eventually(t, "it has the first rule", func() bool { return len(d.done(old)) > 0 })
	require.NoError(t, os.WriteFile(d.file, []byte(levelRule("two", own("4"), 4)), 0o600))
	require.NoError(t, syscall.Kill(int(d.pid), syscall.SIGHUP))
	eventually(t, "it has the second rule", func() bool { return len(d.done(old)) == 2 })
	assert.Equal(t, []string{"one", "two"}, d.done(old))
	require.NoError(t, syscall.Kill(int(d.pid), syscall.SIGTERM))
	assert.Zero(t, d.wait(), d.errs)
}

// TestRulesRunKilled is a daemon that ends in the middle: the journal has what it did, the
// next one goes on, and what was done once is not done again.
func TestRulesRunKilled(t *testing.T) {
	h := newHome(t)
	program := copyOf(t, "sleep", t.TempDir(), own("5"))
	text := levelRule("one", own("5"), 3)
	d := startRules(t, h, text)
	var pids []kernel.TID
	for range 20 {
		pids = append(pids, child(t, program, "600"))
	}
	require.NoError(t, d.cmd.Process.Kill())
	d.wait()
	for range 5 {
		pids = append(pids, child(t, program, "600"))
	}
	next := startRules(t, h, text)
	for _, pid := range pids {
		eventually(t, "it has the level", func() bool { return levelOf(t, pid) == 3 })
		assert.LessOrEqual(t, len(d.done(pid))+len(next.done(pid)), 1)
	}
	eventually(t, "all of it is recorded", func() bool {
		return h.run("rules", "stop", "--undo").code == 0
	})
	for _, pid := range pids {
		assert.NotEqual(t, 3, levelOf(t, pid))
	}
}

func TestRulesCheckAndExplain(t *testing.T) {
	h := newHome(t)
	program := copyOf(t, "sleep", t.TempDir(), own("6"))
	pid := fmt.Sprint(child(t, program, "600"))
	file := filepath.Join(t.TempDir(), "r.toml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write(levelRule("one", own("6"), 3) + "[[rule]]\nname = 'idle'\ncomm = 'pt-rules-none'\nnice = 1\n")
	r := h.run("rules", "check", file)
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, pid+" +"+own("6")+" +one +2 +-", r.out)
	assert.Contains(t, r.err, `rule "idle" (line 6) applies to no process now`)
	r = h.run("rules", "explain", pid, file)
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, `rule "one" applies: the process has comm "`+own("6")+`".`)
	assert.Contains(t, r.out, `rule "idle" does not apply: its comm is "`+own("6")+`", not "pt-rules-none".`)

	write(levelRule("one", own("6"), 3) + "[[rule]]\nname = 'two'\ncomm = '" + own("6") + "*'\nnice = 1\n")
	r = h.run("rules", "check", file)
	assert.Equal(t, 3, r.code)
	assert.Contains(t, r.err, `rules "one" (line 2) and "two" (line 6) both match with priority 0`)
	assert.Equal(t, 1, h.run("rules", "explain", pid, file).code)

	write("version = 1\n[[rule]]\nname = 'x'\ncomm = 'x'\ncpus = '4-'\n")
	for _, verb := range []string{"check", "run"} {
		r = h.run("rules", verb, file)
		assert.Equal(t, 2, r.code)
		assert.Contains(t, r.err, file+": line 5, column 1: ")
	}
	write("version = 1\n[[rule]]\nname = 'x'\ncomm = 'x'\nnice = -1\n")
	for _, verb := range []string{"check", "run"} {
		r = h.run("rules", verb, file)
		assert.Equal(t, 2, r.code)
		assert.Contains(t, r.err, `rule "x" raises priority, and any user can start a process that it matches`)
	}
	write("version = 1\n[[rule]]\nname = 'x'\ncomm = 'x'\ncpus = '9999'\n")
	for _, verb := range []string{"check", "run"} {
		assert.Equal(t, 1, h.run("rules", verb, file).code)
	}
	write("version = 1\n[[rule]]\nname = 'x'\ncomm = 'pt-rules-none'\nuser = 'root'\npolicy = 'fifo:5'\n")
	r = h.run("rules", "run", file)
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, `line 2: rule "x" makes processes real-time`)
	r = h.run("rules", "check")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "there is no rules file: neither")
	for _, args := range []string{"explain", "explain 0", "explain x", "explain +1", "explain 1 a b", "check a b", "stop x", "", "nosuch"} {
		assert.Equal(t, 2, h.run(append([]string{"rules"}, strings.Fields(args)...)...).code, args)
	}
}

// TestRulesOfStandardInput reads rules from a pipe: at the start only, not for SIGHUP.
func TestRulesOfStandardInput(t *testing.T) {
	h := newHome(t)
	input := func(args ...string) result {
		var out, errs bytes.Buffer
		code := Main(app.IO{Args: args, Env: h.env, In: strings.NewReader(harmlessRules), Out: &out, Err: &errs})
		return result{code: code, out: out.String(), err: errs.String()}
	}
	for _, args := range [][]string{{"rules", "check", "-"}, {"rules", "check", "/dev/stdin"}, {"rules", "explain", "1", "/proc/self/fd/0"}} {
		r := input(args...)
		assert.Zero(t, r.code, "%v: %s", args, r.err)
		assert.Contains(t, r.out+r.err, `rule "r"`, args)
	}
	for _, args := range [][]string{{"apply", "--check"}, {"verify"}} {
		for _, name := range []string{"-", "/dev/stdin"} {
			r := input(append(args, name)...)
			assert.Equal(t, exit.Usage, r.code, args)
			assert.Contains(t, r.err, `/dev/stdin: line 2, column 3: there is no setting "rule"`, args)
		}
	}
	d := &rulesRun{cmd: h.program("rules", "run", "-", "-o", "json")}
	d.cmd.Stdin = strings.NewReader(harmlessRules)
	d.start(t)
	require.NoError(t, syscall.Kill(int(d.pid), syscall.SIGHUP))
	eventually(t, "it refuses to read again", func() bool { return d.event("refused") != nil })
	assert.Equal(t, "/dev/stdin is no file that can be read again; the 1 rules of before stay in force", d.event("refused")["message"])
}

// TestRulesPage checks the files that the page shows.
func TestRulesPage(t *testing.T) {
	page, err := Page("rules-file", false)
	require.NoError(t, err)
	_, rest, found := strings.Cut(page, "```toml\n")
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "```")
	file := filepath.Join(t.TempDir(), "r.toml")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, `cpus = "2-3"`, `cpus = "online"`)), 0o600))
	r := newHome(t).run("rules", "check", file)
	assert.Zero(t, r.code, r.err)
}

// TestRulesDryRun changes nothing, and needs not be the only one.
func TestRulesDryRun(t *testing.T) {
	h := newHome(t)
	program := copyOf(t, "sleep", t.TempDir(), own("7"))
	startRules(t, h, levelRule("none", own("none"), 3))
	d := startRules(t, h, levelRule("one", own("7"), 3), "--dry-run")
	pid := child(t, program, "600")
	eventually(t, "it is planned", func() bool {
		for _, l := range d.lines("applied") {
			if l["pid"] == float64(pid) && l["status"] == "planned" {
				return true
			}
		}
		return false
	})
	assert.NotEqual(t, 3, levelOf(t, pid))
}

// TestRulesGoOnWithoutALog is a log on a full disk: rules are applied, and at the end it is
// said that not all was printed.
func TestRulesGoOnWithoutALog(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	defer full.Close()
	h, n := newHome(t), newNamesake(t)
	first := n.start()
	own := niceOf(t, first)
	if own > 18 {
		t.Skip("needs a nice value above its own")
	}
	file := filepath.Join(t.TempDir(), "rules.toml")
	text := fmt.Sprintf("version = 1\n[[rule]]\nname = 'r'\ncomm = %q\nnice = %d\n", n.name, own+1)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	cmd, errs := h.program("rules", "run", file), &locked{}
	cmd.Stdout, cmd.Stderr = full, errs
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	eventually(t, "the first has it", func() bool { return niceOf(t, first) == own+1 })
	second := n.start()
	eventually(t, "a later one has it", func() bool { return niceOf(t, second) == own+1 })
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	assert.Equal(t, exit.Some, cmd.ProcessState.ExitCode(), errs.String())
	assert.Contains(t, errs.String(), "rules go on being applied, and nothing more is printed: write /dev/stdout: no space left on device")
	assert.Contains(t, errs.String(), "it was changed, and piton journal shows it, but it could not be printed")
	h.run("undo", "--all")
}
