package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/kernel/standstill"
	"piton/internal/procfs"
)

// lifelineRole makes the test binary a lifeline: a process that runs before everything else,
// and kills real-time spinners if piton has not ended after a while. Beside such spinners on
// every CPU, Linux 6.12 once gave ordinary tasks no time at all for 12 minutes, although each
// CPU has a fair server: there is nothing to judge of a piton that did not run.
const lifelineRole = "PITON_TEST_LIFELINE"

const (
	lifelineAfter = 3 * time.Minute // by the guest's clock, without standstills
	// littleTicks is less CPU time, in USER_HZ, than piton takes to start.
	littleTicks = 50
)

// playLifeline prints what CPU time piton had until the spinners were killed, in ticks, -1 if
// it ended by itself.
func playLifeline(words []string) {
	var pids []kernel.TID
	for _, word := range words {
		n, _ := strconv.Atoi(word)
		pids = append(pids, kernel.TID(n))
	}
	if err := overtake(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	fs, piton := procfs.New("/"), pids[0]
	var had int
	var stood standstill.Stood
	if stood.Await(lifelineAfter, func() bool {
		st, err := fs.Stat(piton)
		if err == nil {
			had = int(st.UserTicks + st.SystemTicks)
		}
		return err != nil || st.State == 'Z'
	}) {
		had = -1
	}
	for _, pid := range pids[1:] {
		if had >= 0 {
			_ = syscall.Kill(int(pid), syscall.SIGKILL)
		}
	}
	fmt.Println(had)
}

// lifeline is such a process.
type lifeline struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startLifeline(t *testing.T, piton int, spinners []kernel.TID) lifeline {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, strings.Fields(fmt.Sprint(piton, " ", strings.Trim(fmt.Sprint(spinners), "[]")))...)
	cmd.Env = append(os.Environ(), lifelineRole+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	l := lifeline{cmd, bufio.NewScanner(out)}
	require.True(t, l.lines.Scan())
	require.Equal(t, "ready", l.lines.Text())
	return l
}

// judged reports whether piton ended by itself. If it did not although it had CPU time, the
// test fails; if it had none, that is said.
func (l lifeline) judged(t *testing.T) bool {
	require.True(t, l.lines.Scan())
	had, err := strconv.Atoi(l.lines.Text())
	require.NoError(t, err)
	require.NoError(t, l.cmd.Wait())
	if had < 0 {
		return true
	}
	assert.Less(t, had, littleTicks, "ticks of CPU time that piton had, and did not end in %v", lifelineAfter)
	t.Logf(standstill.Notice+"the kernel gave piton %d ticks in %v", had, lifelineAfter)
	return false
}

// held is a piton that is known before it begins.
type held struct {
	cmd       *exec.Cmd
	out, errs bytes.Buffer
	open      func()
	t         *testing.T
}

// startHeld starts a piton that waits for release.
func (h *home) startHeld(args ...string) *held {
	self, err := os.Executable()
	require.NoError(h.t, err)
	r := &held{cmd: exec.Command("sh", append([]string{"-c", `read go; exec "$0" "$@"`, self}, args...)...), t: h.t}
	r.cmd.Env = append(h.env, asProgram+"=1")
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.errs
	gate, err := r.cmd.StdinPipe()
	require.NoError(h.t, err)
	require.NoError(h.t, r.cmd.Start())
	r.open = func() { _, _ = fmt.Fprintln(gate); _ = gate.Close() }
	return r
}

// release lets it run to its end.
func (r *held) release() result {
	r.open()
	err := r.cmd.Wait()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		require.NoError(r.t, err)
	}
	return result{r.cmd.ProcessState.ExitCode(), r.out.String(), r.errs.String()}
}
