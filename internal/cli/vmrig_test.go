package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/dev/since"
	"piton/internal/kernel/standstill"
)

// guestsVar names the guests to boot: names of the table, or full, weekly or changed (those of
// full that the changes since the commit in .ci/full ask for), with commas between them.
const guestsVar = "PITON_GUESTS"

const (
	// moduleRoot is where paths of the table begin, seen from this package.
	moduleRoot = "../.."
	// guestLimit is when a guest is ended that does not end: its CPU may be busy with others.
	guestLimit = 40 * time.Minute
)

// TestGuests boots the machines that PITON_GUESTS names, one after the other: each takes a
// CPU of the host.
func TestGuests(t *testing.T) {
	if os.Getenv(guestsVar) == "" {
		t.Skip("make guests runs it")
	}
	rig, err := filepath.Abs(filepath.Join(moduleRoot, "../shared/vm/run"))
	require.NoError(t, err)
	if _, err := os.Stat(rig); err != nil {
		t.Skip("the machine is described beside the repository, which is not there: ", err)
	}
	asked := askedGuests(t, os.Getenv(guestsVar))
	dir := t.TempDir()
	var ends []string
	notJudged := 0
	for _, g := range guests {
		if !slices.Contains(asked, g.name) {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			end := g.boot(t, rig, dir)
			ends = append(ends, fmt.Sprintf("%s %.0f s (%.0f s of CPU)", g.name, end.took.Seconds(), end.used.Seconds()))
			notJudged += end.notJudged
		})
	}
	t.Logf("guests: %s\n%d not judged", strings.Join(ends, ", "), notJudged)
}

// askedGuests are the guests that words name.
func askedGuests(t *testing.T, words string) (names []string) {
	t.Helper()
	for word := range strings.SplitSeq(words, ",") {
		switch word {
		case "full":
			names = append(names, fullGuests()...)
		case "changed":
			names = append(names, changedGuests(t)...)
		case "weekly":
			for _, g := range guests {
				if g.weekly {
					names = append(names, g.name)
				}
			}
		default:
			require.True(t, slices.ContainsFunc(guests, func(g guest) bool { return g.name == word }), "%s: there is no guest %q", guestsVar, word)
			names = append(names, word)
		}
	}
	return names
}

// changedGuests are those of make full that changes since its last run ask for.
func changedGuests(t *testing.T) []string {
	t.Helper()
	commit, err := since.LastFull(moduleRoot)
	var paths []string
	if err == nil {
		paths, err = since.Paths(moduleRoot, commit)
	}
	if err != nil {
		t.Logf("all guests: %v", err)
		return fullGuests()
	}
	var names []string
	why := guestsFor(paths)
	for _, g := range guests {
		path := why[g.name]
		switch {
		case path != "" && g.weekly:
			t.Logf("%s is left to make weekly: %s has changed", g.name, path)
		case path != "":
			t.Logf("%s: %s has changed", g.name, path)
			names = append(names, g.name)
		case !g.weekly:
			t.Logf("not %s: nothing that it is for has changed (%d files)", g.name, len(paths))
		}
	}
	return names
}

// guestEnd is how a guest ended.
type guestEnd struct {
	took, used time.Duration // by the clock, and of the host's CPUs
	notJudged  int
}

// rigFailed is the exit status of the rig where no command has ended (shared/vm/README.md).
const rigFailed = 125

// boot runs what the table says in a guest, and makes sure that all of it has passed.
func (g guest) boot(t *testing.T, rig, dir string) (end guestEnd) {
	t.Helper()
	s := g.shape
	options := []string{
		"--kernel", g.kernel, "--cpus", fmt.Sprint(s.cpus), "--threads", fmt.Sprint(s.threads), "--nodes", fmt.Sprint(s.nodes), "--l3", fmt.Sprint(s.l3),
		"--mem", fmt.Sprint(g.memory), "--timeout", fmt.Sprint(guestLimit.Seconds()), "--verbose",
	}
	options = append(options, g.options...)
	for _, file := range g.programs(t, dir) {
		options = append(options, "--copy", file)
	}
	cmd := exec.Command(rig, append(options, "--", g.script())...)
	lines := &lineLog{t: t, began: time.Now()}
	cmd.Stdout, cmd.Stderr = lines, lines
	err := cmd.Run()
	end.took, end.used = time.Since(lines.began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	out := lines.all.String()
	if why := kernelGone(cmd.ProcessState.ExitCode(), out); why != "" {
		t.Skip(why)
	}
	results := resultsOf(out)
	for _, r := range results {
		t.Logf("%8.2f s  %s %s", r.seconds, r.outcome, r.test)
	}
	end.notJudged = strings.Count(out, standstill.Notice)
	assert.NoError(t, err)
	for _, run := range g.runs {
		for _, name := range run.tests {
			assert.True(t, slices.ContainsFunc(results, func(r guestResult) bool { return r.test == name && r.outcome == "PASS" }), "%s ran, and was not skipped", name)
		}
	}
	return end
}

// programs builds the test programs of a guest in a folder that all guests share.
func (g guest) programs(t *testing.T, dir string) (files []string) {
	t.Helper()
	for _, run := range append([]guestRun{{program: "cli"}}, g.runs...) { // it is piton, too
		file := filepath.Join(dir, path.Base(run.program)+".test")
		if run.program == "" || slices.Contains(files, file) {
			continue
		}
		files = append(files, file)
		if _, err := os.Stat(file); err == nil {
			continue
		}
		build := exec.Command("go", "test", "-c", "-o", file, "piton/internal/"+run.program)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return files
}

// script is the shell text that a guest runs.
func (g guest) script() string {
	var b strings.Builder
	s := g.shape
	fmt.Fprintf(&b, "export %s="+shapeFormat+"\nstatus=0\n", shapeVar, s.cpus, s.threads, s.nodes, s.l3)
	for _, run := range g.runs {
		if run.before != "" {
			fmt.Fprintln(&b, run.before, "|| status=1")
		}
		if run.program != "" {
			fmt.Fprintf(&b, "./%s.test -test.v -test.run '^(%s)$' || status=1\n", path.Base(run.program), strings.Join(run.tests, "|"))
		}
	}
	return b.String() + "exit $status\n"
}

// kernelGone is why a guest could not boot because the archive has no such kernel any more, or
// "". An archive that could not be read has none either, and that is a failure.
func kernelGone(status int, out string) string {
	if status != rigFailed || strings.Contains(out, "vm: warning: apt-get ") {
		return ""
	}
	return regexp.MustCompile(`(?m)^vm: no \S+ kernel in .*$`).FindString(out)
}

// guestResult is one line of go test -v.
type guestResult struct {
	test, outcome string
	seconds       float64
}

// resultsOf are the results of a guest's tests, without those of subtests.
func resultsOf(out string) (results []guestResult) {
	for _, m := range regexp.MustCompile(`--- (PASS|FAIL|SKIP): (\w+) \(([\d.]+)s\)`).FindAllStringSubmatch(out, -1) {
		r := guestResult{test: m[2], outcome: m[1]}
		_, _ = fmt.Sscan(m[3], &r.seconds)
		results = append(results, r)
	}
	return results
}

// lineLog logs the lines that are written to it, with the seconds since it began.
type lineLog struct {
	t     *testing.T
	began time.Time
	all   strings.Builder
	rest  []byte // of a line
}

func (l *lineLog) Write(b []byte) (int, error) {
	l.all.Write(b)
	l.rest = append(l.rest, b...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		l.t.Logf("%4.0f s  %s", time.Since(l.began).Seconds(), line)
		l.rest = rest
	}
}

func TestGuestsFor(t *testing.T) {
	for _, tt := range []struct {
		path string
		want []string
	}{
		{"internal/tui/list/list.go", nil},
		{"internal/change/README.md", []string{"many", "devices", "guard"}},
		{"CHANGELOG.md", nil},
		{"cmd/piton/main.go", nil},
		{"workloads/chat/workload.go", nil},
		{"internal/lab/stripnet/workload.go", []string{"network"}},
		{"internal/rescue/rescue.go", []string{"guard"}},
		{"internal/irq/reader.go", []string{"devices"}},
		{"internal/lab/steer/steer.go", []string{"steering"}},
		{"internal/lab/aggregate/kfunc.go", []string{"schedext"}},
		{"internal/cpuset/set.go", []string{"many"}},
		{"internal/cli/vm_guard_test.go", []string{"guard"}},
		{"internal/cli/guests_test.go", fullGuests()}, // in no list, as what follows
		{"internal/new/new.go", fullGuests()},
		{"go.mod", fullGuests()},
	} {
		why := guestsFor([]string{tt.path})
		var names []string
		for name, path := range why {
			names = append(names, name)
			assert.Equal(t, tt.path, path)
		}
		assert.ElementsMatch(t, tt.want, names, tt.path)
	}
	assert.Equal(t, map[string]string{"guard": "internal/rescue/rescue.go"}, guestsFor([]string{"README.md", "internal/rescue/rescue.go", "internal/rescue/other.go"}), "the first that asks")
	assert.Empty(t, guestsFor(nil))
}

// The table names no path and no test that is not there, and each test for guests.
func TestGuestsTable(t *testing.T) {
	written := map[string]map[string]bool{}
	testsOf := func(program string) map[string]bool {
		if written[program] != nil {
			return written[program]
		}
		written[program] = map[string]bool{}
		files, err := filepath.Glob(filepath.Join(moduleRoot, "internal", program, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t `).FindAllSubmatch(text, -1) {
				written[program][string(m[1])] = true
			}
		}
		return written[program]
	}
	run := map[string]bool{"TestVMAutoFindsItsNode": true} // takes minutes, and a variable of its own
	for _, g := range guests {
		for _, r := range g.runs {
			for _, name := range r.tests {
				assert.True(t, testsOf(r.program)[name], "guest %s: internal/%s has no %s", g.name, r.program, name)
				run[name] = true
			}
		}
		for _, path := range g.paths {
			found, err := filepath.Glob(filepath.Join(moduleRoot, path) + "*")
			assert.NoError(t, err)
			assert.NotEmpty(t, found, "guest %s: %s", g.name, path)
		}
	}
	for name := range testsOf("cli") {
		assert.True(t, run[name] || !strings.HasPrefix(name, "TestVM"), "no guest runs %s", name)
	}
}

func TestKernelGone(t *testing.T) {
	const gone = "vm: no 7.2 kernel in bookworm, bookworm-backports, trixie, trixie-backports"
	assert.Equal(t, gone, kernelGone(rigFailed, "vm: fetching a 7.2 kernel\n"+gone+"\n"))
	assert.Empty(t, kernelGone(1, gone))
	assert.Empty(t, kernelGone(rigFailed, "vm: the machine stopped before the command ended\n"))
	assert.Empty(t, kernelGone(rigFailed, "vm: warning: apt-get -qq update failed:\nE: no route\n"+gone+"\n"), "the archive was not read")
}

func TestResultsOf(t *testing.T) {
	out := "=== RUN   TestA\n    --- PASS: TestA/x (0.10s)\n--- PASS: TestA (1.25s)\nno line end--- SKIP: TestB (0.00s)\n--- FAIL: TestC (12.00s)\n"
	assert.Equal(t, []guestResult{{"TestA", "PASS", 1.25}, {"TestB", "SKIP", 0}, {"TestC", "FAIL", 12}}, resultsOf(out))
}
