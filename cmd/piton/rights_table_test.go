package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// found is what piton doctor says of a feature.
type found struct{ Type, ID, State, Source, Reason, Command string }

func doctor(t *testing.T, s stranger) map[string]found {
	t.Helper()
	out, code := s.run(t, nil, "doctor", "-o", "json")
	require.Zero(t, code, out)
	all := map[string]found{}
	for line := range strings.Lines(out) {
		var f found
		require.NoError(t, json.Unmarshal([]byte(line), &f), line)
		all[f.ID] = f
	}
	return all
}

// settings are changes that take CAP_SYS_NICE on root's processes.
func settings(pid string) [][]string {
	return [][]string{
		{"pin", pid, "--cpu", "0"}, {"nice", pid, "-5"}, {"policy", pid, "rr:5"}, {"policy", pid, "fifo:5", "--revert-after", "3s"},
		{"ionice", pid, "real-time"},
	}
}

// TestRightsOfTheTable tries each row of the table in the help's page of rights with that right
// alone.
func TestRightsOfTheTable(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		s, roots := newStranger(t), sleeper(t, nil)
		own := sleeper(t, func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangersID, Gid: strangersID}}
		})
		for _, args := range [][]string{{"pin", own, "--cpu", "0"}, {"nice", own, "5"}, {"policy", own, "batch"}, {"policy", own, "idle"}} {
			out, code := s.run(t, nil, args...)
			assert.Zero(t, code, out)
		}
		for _, args := range settings(roots) {
			out, code := s.run(t, nil, args...)
			assert.NotZero(t, code, out)
		}
		assert.NotContains(t, program(t, s, roots), "/")
	})
	t.Run("CAP_BPF and CAP_PERFMON", func(t *testing.T) {
		all := doctor(t, newStranger(t, kernel.CapBPF, kernel.CapPerfmon))
		if !strings.Contains(doctor(t, newStranger(t))["tasks"].Reason, "CAP_BPF") {
			t.Skip("no eBPF here: ", all["tasks"].Reason)
		}
		for _, id := range []string{"tasks", "migrations", "task-migrations", "moves", "run-delay", "load", "ledger"} {
			assert.Equal(t, "best", all[id].State, "%s: %s", id, all[id].Reason)
		}
	})
	t.Run("CAP_PERFMON", func(t *testing.T) {
		assert.Contains(t, doctor(t, newStranger(t, kernel.CapPerfmon))["migrations"].Source, "perf counter")
	})
	t.Run("CAP_SYS_NICE", func(t *testing.T) {
		s, roots := newStranger(t, kernel.CapSysNice), sleeper(t, nil)
		for _, args := range settings(roots) {
			out, code := s.run(t, nil, args...)
			assert.Zero(t, code, "%s: %s", args, out)
		}
		guards := processesOf(t, s.program)
		assert.NotEmpty(t, guards)
		for _, guard := range guards {
			for _, tid := range threads(t, guard) {
				attr, err := kernel.System().Attr(tid)
				require.NoError(t, err)
				assert.True(t, attr.Policy.RealTime(), "thread %d of the guard is %s", tid, attr.Policy)
			}
			assert.NotRegexp(t, `CapEff:\s*0*[1-9a-f]`, read(t, fmt.Sprintf("/proc/%d/status", guard)))
		}
		out, code := s.run(t, nil, "undo", "--all")
		assert.Zero(t, code, out)
	})
	t.Run("CAP_SYS_PTRACE", func(t *testing.T) {
		assert.Contains(t, program(t, newStranger(t, kernel.CapSysPtrace), sleeper(t, nil)), "/")
	})
}

// program is what what-is says of a process's program.
func program(t *testing.T, s stranger, pid string) string {
	t.Helper()
	out, code := s.run(t, nil, "what-is", pid, "-o", "json")
	require.Zero(t, code, out)
	var about struct{ Exe string }
	require.NoError(t, json.Unmarshal([]byte(out), &about), out)
	return about.Exe
}

// processesOf are those that run a program.
func processesOf(t *testing.T, program string) (pids []kernel.TID) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(t, err)
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == program {
			pids = append(pids, number(t, filepath.Base(filepath.Dir(link))))
		}
	}
	return pids
}

func threads(t *testing.T, pid kernel.TID) (tids []kernel.TID) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	require.NoError(t, err)
	for _, e := range entries {
		tids = append(tids, number(t, e.Name()))
	}
	return tids
}

func number(t *testing.T, text string) kernel.TID {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return kernel.TID(n)
}

// TestDoctorAdvisesWhatIsMissing is that nothing is advised that is in place.
func TestDoctorAdvisesWhatIsMissing(t *testing.T) {
	for id, f := range doctor(t, newStranger(t, advised(t)...)) {
		assert.NotContains(t, f.Command, "setcap", id)
	}
	again := 0
	for id, f := range doctor(t, newStranger(t, kernel.CapPerfmon)) {
		if strings.Contains(f.Command, "setcap") {
			again++
			assert.Contains(t, f.Command, "setcap cap_bpf,cap_perfmon,cap_sys_nice+p", id)
		}
	}
	assert.Positive(t, again)
}
