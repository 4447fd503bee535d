package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/guard"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/standstill"
	"piton/internal/procfs"
)

// The tests of this file take every CPU of the many-CPU machine away, and look
// whether a guard gives them back. They never run elsewhere.

const (
	// witnessRole makes the test binary the one who sees it: a process that runs
	// before everything else, kills piton, and takes the time.
	witnessRole = "PITON_TEST_WITNESS"
	// allRounds asks for the rounds of make weekly too.
	allRounds = "PITON_VM_ALL_ROUNDS"

	setNone = "piton set none" // what the witness says then

	revertAfter = 5 * time.Second
	backWithin  = 2 * revertAfter // all CPUs are on a busy one of the host
)

// sight is what the witness saw, by the guest's clock.
type sight struct {
	Set      time.Duration    // from the first spinner becoming real-time to the last; 0 = piton did not get so far
	All      bool             // they all were
	Killed   bool             // piton was alive to be killed
	KillBack time.Duration    // from killing piton until all were ordinary again
	Starved  time.Duration    // from the first becoming real-time until then
	Before   standstill.Stood // until piton was killed
	After    standstill.Stood // of KillBack
	Recorded time.Duration    // from piton's journal entry to the guard's, written when all is back
	Err      string
}

// playWitness reads piton's PID and the time to wait from standard input, once
// the spinners of the command line are known.
func playWitness(pids []string) {
	var s sight
	defer func() { _ = json.NewEncoder(os.Stdout).Encode(s) }()
	var spinners []kernel.TID
	for _, word := range pids {
		n, _ := strconv.Atoi(word)
		spinners = append(spinners, kernel.TID(n))
	}
	if err := overtake(); err != nil {
		s.Err = err.Error()
		return
	}
	fmt.Println("ready")
	var piton kernel.TID
	var delay time.Duration
	if _, err := fmt.Fscanln(os.Stdin, &piton, &delay); err != nil {
		s.Err = err.Error()
		return
	}
	handle, err := kernel.SystemWriter().Hold(piton, 0)
	if err != nil {
		s.Err = err.Error()
		return
	}
	fmt.Println("held")
	realTime := func() (n int) {
		for _, pid := range spinners {
			if attr, err := sched.Attr(pid); err == nil && attr.Policy == kernel.FIFO {
				n++
			}
		}
		return n
	}
	if !s.Before.Await(time.Minute, func() bool { return realTime() > 0 }) {
		s.Err = setNone
		return
	}
	began := time.Now()
	s.All = s.Before.Await(delay, func() bool { return realTime() == len(spinners) })
	s.Set = time.Since(began)
	kernel.Sleep(max(0, delay-s.Set))
	killed := time.Now()
	s.Killed = handle.Signal(syscall.SIGKILL) == nil
	if !s.After.Await(20*time.Second, func() bool { return realTime() == 0 }) {
		s.Err = "not all are back after 20 s"
	}
	s.KillBack, s.Starved = time.Since(killed), time.Since(began)
}

// overtake puts the calling goroutine of a witness before everything else.
func overtake() error {
	if caveats := guard.Overtake(); len(caveats) > 0 {
		return errors.New(strings.Join(caveats, "; "))
	}
	return guard.AboveAll()
}

// answerTime is how long piton waits for an answer of its guard.
const answerTime = 500 * time.Millisecond

// guardSilent is in what piton says when it has waited for that long: nothing is changed then.
const guardSilent = "does not answer"

// takeEveryCPU sets FIFO on a spinner on every CPU, under guard, and kills piton a
// while after the first has become real-time. It is not done if the machine stood still
// until the trial was over before the first change.
func takeEveryCPU(t *testing.T, cpus, rtprio int, delay time.Duration) (s sight, done bool) {
	h := newHome(t)
	var words []string
	for _, pid := range spinOnEach(t, cpus) {
		words = append(words, fmt.Sprint(pid))
		defer func() { _ = syscall.Kill(int(pid), syscall.SIGKILL) }()
	}
	self, err := os.Executable()
	require.NoError(t, err)
	witness := exec.Command(self, words...)
	witness.Env = append(os.Environ(), witnessRole+"=1")
	in, err := witness.StdinPipe()
	require.NoError(t, err)
	out, err := witness.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, witness.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "the witness is ready")

	args := append(append([]string{"policy", "--revert-after", fmt.Sprint(revertAfter), "--yes", "--"}, words...), fmt.Sprintf("fifo:%d", rtprio))
	// It begins when the witness knows its PID: then this test may get no CPU any more.
	piton := h.startHeld(args...)
	_, err = fmt.Fprintln(in, piton.cmd.Process.Pid, int64(delay))
	require.NoError(t, err)
	require.True(t, lines.Scan(), "the witness holds it")
	piton.open()
	require.True(t, lines.Scan(), "the witness has seen it")
	require.NoError(t, json.Unmarshal(lines.Bytes(), &s), lines.Text())
	_ = piton.cmd.Wait()
	require.NoError(t, witness.Wait())
	late := slices.ContainsFunc([]string{"the change took longer", change.ErrTooLate.Error(), guardSilent}, func(why string) bool {
		return strings.Contains(piton.errs.String(), why)
	})
	if s.Err == setNone && late && s.Before.Sum > answerTime/2 {
		t.Logf(standstill.Notice+"the guest stood still for %d ms in all", s.Before.Sum.Milliseconds())
		return s, false
	}
	require.Empty(t, s.Err, piton.errs.String())
	eventually(t, "the journal knows", func() bool { return strings.Contains(h.run("journal").out, "undone by guard") })
	assert.Contains(t, h.run("journal").out, "undone")
	var times [2]time.Time
	for i, entry := range ofType(jsonLines(t, h.run("journal", "-o", "json").out), "entry")[:2] {
		times[i], err = time.Parse(time.RFC3339Nano, entry["time"].(string))
		require.NoError(t, err)
	}
	s.Recorded = times[1].Sub(times[0])
	for _, word := range words {
		pid, _ := strconv.Atoi(word)
		st, err := procfs.New("/").Stat(kernel.TID(pid))
		require.NoError(t, err)
		assert.Equal(t, kernel.Other, st.Policy)
	}
	return s, true
}

// spinOnEach keeps every CPU busy by a child that is pinned to it. They have nice 19, so
// that piton is not late because of them before they are real-time.
func spinOnEach(t *testing.T, cpus int) (pids []kernel.TID) {
	for cpu := range cpus {
		pid := child(t, "sh", "-c", "while :; do :; done")
		require.NoError(t, sched.SetAffinity(pid, cpuset.Of(cpuset.CPU(cpu))))
		require.NoError(t, sched.SetNice(pid, 19))
		pids = append(pids, pid)
	}
	return pids
}

// needGuardVM skips a test that takes every CPU, but in a small machine that is
// meant for it: of larger ones, one host CPU has nothing left.
func needGuardVM(t *testing.T) vmShape {
	s := needVM(t)
	if s != fourCPUs {
		t.Skip("takes every CPU of a machine of four")
	}
	return s
}

// rounds are the first of them, or all in make weekly.
func rounds[T any](first int, all []T) []T {
	if os.Getenv(allRounds) == "" {
		return all[:first]
	}
	return all
}

// TestVMGuardOutlivesPiton kills piton at different moments: right after its first
// change, when some have been made, and when all have. FIFO 99 has no priority above;
// without a throttle ordinary tasks get nothing at all.
func TestVMGuardOutlivesPiton(t *testing.T) {
	shape := needGuardVM(t)
	for _, r := range rounds(2, []struct {
		rtprio    int
		throttled bool
		delay     time.Duration
	}{{80, true, 0}, {99, false, 20 * time.Millisecond}, {99, true, 2 * time.Second}, {80, false, 200 * time.Millisecond}}) {
		rethrottle := func() {}
		if !r.throttled {
			rethrottle = unthrottle(t)
		}
		s, done := takeEveryCPU(t, shape.cpus, r.rtprio, r.delay)
		rethrottle()
		if !done {
			continue
		}
		t.Logf("FIFO:%d throttled %-5v killed after %7.1f ms (alive %-5v all set %-5v); back %7.1f ms after that (the machine stood for %6.1f ms), "+
			"%7.1f ms after the first; recorded %7.1f ms after piton's entry",
			r.rtprio, r.throttled, r.delay.Seconds()*1e3, s.Killed, s.All, s.KillBack.Seconds()*1e3, s.After.Sum.Seconds()*1e3, s.Starved.Seconds()*1e3, s.Recorded.Seconds()*1e3)
		if s.After.Judged(t) {
			assert.Less(t, s.KillBack-s.After.Sum, backWithin)
		}
	}
}

// unthrottle lets real-time tasks have all of every CPU, until again is called:
// before Linux 6.12 by sched_rt_runtime_us, since then also by the servers that
// give ordinary tasks their part (Documentation/scheduler/sched-deadline.rst).
func unthrottle(t *testing.T) (again func()) {
	const sysctl = "/proc/sys/kernel/sched_rt_runtime_us"
	servers, _ := filepath.Glob("/sys/kernel/debug/sched/fair_server/cpu*/runtime")
	files, before := append([]string{sysctl}, servers...), map[string]string{}
	for _, path := range files { // the sysctl first: without its limit the servers' part is free
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		before[path] = strings.TrimSpace(string(text))
		value := "0"
		if path == sysctl {
			value = "-1"
		}
		write(t, path, value)
	}
	again = sync.OnceFunc(func() {
		for _, path := range slices.Backward(files) {
			write(t, path, before[path])
		}
	})
	t.Cleanup(again) // or the tests after a failed one get no CPU, for ever
	return again
}
