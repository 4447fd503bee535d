package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	_ "piton/internal/lab"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/change/guard"
	"piton/internal/cli/app"
	"piton/internal/cli/benchcmd"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
	"piton/internal/userfile"
)

// asProgram makes the test binary be piton.
const asProgram = "PITON_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	userfile.Run = "/nonexistent"                                                                    // so each test has its own lock and guards
	isChild := len(os.Args) > 1 && (os.Args[1] == benchcmd.WorkloadVerb || os.Args[1] == guard.Verb) // of a benchmark, of a change
	if os.Getenv(asProgram) != "" || isChild {
		os.Exit(Main(app.IO{Args: os.Args[1:], Env: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	if os.Getenv(witnessRole) != "" {
		playWitness(os.Args[1:])
		return
	}
	if os.Getenv(lifelineRole) != "" {
		playLifeline(os.Args[1:])
		return
	}
	if os.Getenv(starverRole) != "" {
		playStarver(os.Args[1], os.Args[2], os.Args[3:])
		return
	}
	if os.Getenv(threadsRole) != "" {
		playThreads()
		return
	}
	if good := os.Getenv(pacerRole); good != "" {
		playPacer(good, os.Args[1])
		return
	}
	if role := os.Getenv(flowRole); role != "" {
		playFlow(role)
		return
	}
	if role := os.Getenv(moverThreads); role != "" {
		playMover(role)
		return
	}
	if words := os.Getenv(seenFlowsRole); words != "" {
		if err := bpftest.PlayFlows(strings.Fields(words)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// result is what a run of piton gave.
type result struct {
	code     int
	out, err string
}

// inVM reports whether the tests run in the many-CPU machine of make guests,
// whose emulated CPUs are slow.
func inVM() bool { return os.Getenv(shapeVar) != "" }

// home is where the runs of one test keep their state.
type home struct {
	t   *testing.T
	env []string
}

func newHome(t *testing.T) *home {
	dir := t.TempDir()
	return &home{t, []string{"XDG_STATE_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "HOME=" + dir, "USER=tester", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH")}}
}

// run runs piton in this process.
func (h *home) run(args ...string) result {
	h.t.Helper()
	var out, errs bytes.Buffer
	code := Main(app.IO{Args: args, Env: h.env, In: strings.NewReader(""), Out: &out, Err: &errs, Exec: func(path string, _, _ []string, _ func(kernel.TID) error) error {
		err := fmt.Errorf("the test would have become %s", path)
		assert.NoError(h.t, err, "piton %v", args)
		return fmt.Errorf("exec: %w", err)
	}})
	r := result{code, out.String(), errs.String()}
	assert.NotContains(h.t, r.out, "\x1b", "piton %v: escape byte on stdout", args)
	assert.NotContains(h.t, r.err, "\x1b", "piton %v: escape byte on stderr", args)
	assert.NotContains(h.t, r.err, "Usage:", "piton %v", args)
	return r
}

// besideOthers runs piton again while tests beside this one have a busy real-time task on each
// CPU: no CPU is chosen for an ordinary task then.
func besideOthers(t *testing.T, run func() result) (r result) {
	t.Helper()
	eventually(t, "a CPU has no busy real-time task of another test", func() bool {
		r = run()
		return !strings.Contains(r.out+r.err, "a busy real-time task runs on each")
	})
	return r
}

// program prepares piton as a process of its own.
func (h *home) program(args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(h.t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(h.env, asProgram+"=1")
	return cmd
}

// jsonLines decodes output of which every line must be an object.
func jsonLines(t *testing.T, out string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(out) {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object), "%q", line)
		require.NotEmpty(t, object["type"], "%q", line)
		all = append(all, object)
	}
	return all
}

func ofType(lines []map[string]any, kind string) []map[string]any {
	var out []map[string]any
	for _, l := range lines {
		if l["type"] == kind {
			out = append(out, l)
		}
	}
	return out
}

// child starts a process that ends with the test.
func child(t *testing.T, argv ...string) kernel.TID {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return kernel.TID(cmd.Process.Pid)
}

// sleeper is a child that does nothing: it has begun to sleep, or on a starved machine it
// would count as busy.
func sleeper(t *testing.T) kernel.TID {
	t.Helper()
	pid := child(t, "sleep", "600")
	eventually(t, "it sleeps", func() bool {
		st, err := procfs.New("/").Stat(pid)
		return err == nil && st.State == 'S'
	})
	return pid
}

// spinner is a child that is busy until the test ends.
func spinner(t *testing.T) kernel.TID { return child(t, "sh", "-c", spin) }

// spin keeps a shell busy for 20 s of CPU at most. A guest ends with its tests, whose clocks
// run on while its host is busy.
var spin = func() string {
	if inVM() {
		return "while :; do :; done"
	}
	return "ulimit -t 20; while :; do :; done"
}()

// needRights skips a test that has to set real-time policies.
func needRights(t *testing.T) {
	t.Helper()
	kerneltest.NeedNice(t, "to set real-time policies and negative nice values")
}

// patience is how long a test waits for what needs a moment: only a machine that is stuck
// needs as long. All CPUs of a guest are one of the host's, which may be busy.
func patience() time.Duration {
	if inVM() {
		return 10 * time.Minute
	}
	return time.Minute
}

// eventually waits for what needs a moment.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience(), 5*time.Millisecond, what)
}
