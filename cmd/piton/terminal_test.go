package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for the screen to show something before it
// fails; it bounds nothing that is measured.
const patience = time.Minute

// terminal is a tmux session of its own server, with a shell in it.
type terminal struct {
	t       *testing.T
	socket  string
	as      *syscall.SysProcAttr // credentials; nil = those of the test
	escaped bool                 // Escape was pressed last
}

// afterEscape is for how long after it the screen takes what comes for the rest of a torn
// sequence, and some more. A test waits for what Escape does before it presses another key.
const afterEscape = 150 * time.Millisecond

// openTerminal starts a terminal of the size with a shell whose environment has
// env on top, and ends it with the test. It skips without tmux, unless
// PITON_REQUIRE_TMUX says that a terminal test must run.
func openTerminal(t *testing.T, width, height int, env ...string) *terminal {
	t.Helper()
	if testing.Short() {
		t.Skip("drives a real terminal; the binary is built without the race detector anyway")
	}
	needProgram(t, "tmux")
	term := &terminal{t: t, socket: filepath.Join(t.TempDir(), "tmux")}
	term.open(width, height, env...)
	return term
}

// needProgram skips without a program that a terminal test needs, unless
// PITON_REQUIRE_TMUX is set.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("PITON_REQUIRE_TMUX") != "" {
			t.Fatal(name + " is not installed")
		}
		t.Skip("needs ", name, ", which is not installed")
	}
}

// open starts the server, with its state beside its socket.
func (term *terminal) open(width, height int, env ...string) {
	term.t.Helper()
	dir := filepath.Dir(term.socket)
	args := []string{"new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "env",
		"LC_ALL=C.UTF-8", "PS1=ready> ", "XDG_STATE_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH")}
	args = append(append(args, env...), "sh", "-i")
	term.tmux(args...)
	term.t.Cleanup(func() { _ = term.command("kill-server").Run() })
	term.wait("ready>")
}

func (term *terminal) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", term.socket, "-f", os.DevNull}, args...)...)
	cmd.SysProcAttr = term.as
	return cmd
}

func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := term.command(args...).CombinedOutput()
	require.NoError(term.t, err, "tmux %v: %s", args, out)
	return string(out)
}

// run types a command line.
func (term *terminal) run(line string) { term.keys("C-u", line, "Enter") }

// keys presses keys by tmux's names; anything else is typed.
func (term *terminal) keys(keys ...string) {
	term.t.Helper()
	for _, k := range keys {
		term.stayOrdinary()
		if term.escaped {
			time.Sleep(afterEscape) // since its effect was seen
		}
		term.tmux("send-keys", k)
		term.escaped = k == "Escape"
	}
}

// stayOrdinary answers the question of a screen that finds itself starved, as it
// may be beside other tests: it would take the keys.
func (term *terminal) stayOrdinary() {
	term.t.Helper()
	asked := func() bool { return strings.Contains(term.frame(), " Starved ") }
	for end := time.Now().Add(patience); asked(); time.Sleep(30 * time.Millisecond) {
		require.True(term.t, time.Now().Before(end), "the question stays:\n%s", term.frame())
		if !strings.Contains(term.frame(), "[y raise]") {
			continue // it does not listen yet
		}
		term.tmux("send-keys", "n")
		for soon := time.Now().Add(patience / 4); asked() && time.Now().Before(soon); { // a second n would be for what is behind
			time.Sleep(30 * time.Millisecond)
		}
	}
}

// frame is what the terminal shows.
func (term *terminal) frame() string { return term.tmux("capture-pane", "-p") }

// wait waits until a line of the terminal matches the pattern, and returns the
// submatches.
func (term *terminal) wait(pattern string) []string {
	term.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	var last string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		term.stayOrdinary()
		last = term.frame()
		if m := re.FindStringSubmatch(last); m != nil {
			return m
		}
	}
	term.t.Fatalf("the screen never showed %q; it shows:\n%s", pattern, last)
	return nil
}

// until waits until ok, and fails with what the screen shows otherwise.
func (term *terminal) until(what string, ok func() bool) {
	term.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if ok() {
			return
		}
		term.stayOrdinary()
	}
	term.t.Fatalf("%s: not so after %s; the screen shows:\n%s", what, patience, term.frame())
}

// output runs another program and returns what it printed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	needProgram(t, name)
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
	return strings.TrimSpace(string(out))
}
