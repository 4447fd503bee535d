package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/kernel/standstill"
)

// The test of this file takes every CPU away after a change that has nothing to do
// with real time, and looks whether its guard is late.

const (
	// starverRole makes the test binary a process that runs piton, makes the spinners
	// real-time as soon as piton has ended, and takes the time until the change is
	// reverted. Its arguments are a priority, the changed process, and the spinners;
	// piton's arguments, as JSON, come from standard input.
	starverRole = "PITON_TEST_STARVER"

	starvedAfter  = 4 * time.Second // --revert-after
	starvedWithin = 5 * time.Second // from piton's end
	starvedMost   = 12 * time.Second
)

// starving is what the starver saw, by the guest's clock.
type starving struct {
	Early time.Duration    // from piton's start until it was found reverted, if that was before every spinner was real-time
	Set   time.Duration    // from piton's end until they were
	Back  time.Duration    // from piton's end until the change was reverted, without standstills
	Stood standstill.Stood // from piton's start until then
	Err   string
}

func playStarver(rtprio, changed string, spinners []string) {
	var s starving
	if err := s.run(rtprio, changed, spinners); err != nil {
		s.Err = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(s)
}

func (s *starving) run(rtprio, changed string, spinners []string) error {
	prio, err := strconv.Atoi(rtprio)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(changed)
	if err != nil {
		return err
	}
	var tasks []kernel.Task
	for _, word := range spinners {
		n, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		p, err := kernel.SystemWriter().Hold(kernel.TID(n), 0)
		if err != nil {
			return err
		}
		tasks = append(tasks, p.Thread(kernel.TID(n), 0))
	}
	var args []string
	if err := json.NewDecoder(os.Stdin).Decode(&args); err != nil {
		return err
	}
	piton := exec.Command("/proc/self/exe", args...)
	piton.Env = append(os.Environ(), asProgram+"=1")
	piton.Stdout, piton.Stderr = os.Stderr, os.Stderr
	if err := overtake(); err != nil {
		return err
	}
	before, err := valuesOf(kernel.TID(pid))
	if err != nil {
		return err
	}
	began := time.Now()
	if err := piton.Start(); err != nil {
		return err
	}
	waited := make(chan error, 1)
	go func() { waited <- piton.Wait() }()
	s.Stood.Await(time.Minute, func() bool { return len(waited) > 0 })
	if err := <-waited; err != nil {
		return err
	}
	ended, stood := time.Now(), s.Stood.Sum
	defer func() {
		for _, task := range tasks {
			_ = task.SetPolicy(kernel.Other, 0, false)
		}
	}()
	for _, task := range tasks {
		if err := task.SetPolicy(kernel.FIFO, prio, false); err != nil {
			return err
		}
	}
	s.Set = time.Since(ended)
	if now, err := valuesOf(kernel.TID(pid)); err != nil || now == before {
		s.Early = time.Since(began)
		return err
	}
	back := s.Stood.Await(starvedMost, func() bool {
		now, err := valuesOf(kernel.TID(pid))
		return err == nil && now == before
	})
	s.Back = time.Since(ended) - (s.Stood.Sum - stood)
	if !back {
		return fmt.Errorf("it is not reverted after %v", s.Back)
	}
	return nil
}

// valuesOf are what the changes of the test act on.
func valuesOf(pid kernel.TID) (string, error) {
	cpus, err := sched.Affinity(pid)
	if err != nil {
		return "", err
	}
	nice, err := sched.Nice(pid)
	return fmt.Sprintf("cpus %v nice %d", cpus, nice), err
}

// starve makes one change under guard, and has every CPU taken when it is made.
func starve(t *testing.T, h *home, rtprio int, changed kernel.TID, spinners []kernel.TID, args []string) (s starving) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	words := []string{fmt.Sprint(rtprio), fmt.Sprint(changed)}
	for _, pid := range spinners {
		words = append(words, fmt.Sprint(pid))
	}
	order, err := json.Marshal(append(args, "--revert-after", fmt.Sprint(starvedAfter)))
	require.NoError(t, err)
	starver := exec.Command(self, words...)
	starver.Env = append(h.env, starverRole+"=1")
	starver.Stdin = strings.NewReader(string(order))
	var errs strings.Builder
	starver.Stderr = &errs
	out, err := starver.Output()
	require.NoError(t, err, errs.String())
	require.NoError(t, json.Unmarshal(out, &s), "%s", out)
	require.Empty(t, s.Err, errs.String())
	require.NotContains(t, errs.String(), "the guard may be late")
	return s
}

// TestVMStarvedGuard makes every CPU FIFO's after an affinity and after a nice, with
// and without a limit on real-time tasks.
func TestVMStarvedGuard(t *testing.T) {
	shape := needGuardVM(t)
	spinners, changed := spinOnEach(t, shape.cpus), child(t, "sleep", "3600")
	pin, nice := []string{"pin", fmt.Sprint(changed), "--cpu", "1"}, []string{"nice", fmt.Sprint(changed), "5"}
	for _, r := range rounds(2, []struct {
		rtprio    int
		throttled bool
		args      []string
	}{{99, false, pin}, {95, true, nice}, {99, true, pin}, {95, false, nice}}) {
		rethrottle := func() {}
		if !r.throttled {
			rethrottle = unthrottle(t)
		}
		h := newHome(t)
		s := starve(t, h, r.rtprio, changed, spinners, r.args)
		eventually(t, "it is recorded", func() bool { return strings.Contains(h.run("journal", "-o", "json").out, "undoes 1") })
		rethrottle()
		t.Logf("%s: FIFO:%d throttled %-5v; all spinners real-time %6.1f ms after piton's end; reverted %7.1f ms after it (the machine stood for %6.1f ms)",
			r.args[0], r.rtprio, r.throttled, s.Set.Seconds()*1e3, s.Back.Seconds()*1e3, s.Stood.Sum.Seconds()*1e3)
		switch {
		case s.Early > 0: // piton took so long to end
			assert.GreaterOrEqual(t, s.Early, starvedAfter)
			t.Log(standstill.Notice + "it was reverted before the CPUs were taken")
		case s.Stood.Judged(t):
			assert.Less(t, s.Back, starvedWithin)
		}
	}
}
