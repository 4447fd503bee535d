package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// stranger is nobody, who runs a piton with file capabilities.
type stranger struct {
	program string
	home    string // the user's own directory
}

const strangersID = 65534

// newStranger copies the program to where everybody may run it, with capabilities.
func newStranger(t *testing.T, granted ...kernel.Capability) stranger {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped with -short: runs the program with each set of capabilities")
	}
	kerneltest.NeedRoot(t, "to grant file capabilities and to become nobody")
	dir, err := os.MkdirTemp("", "piton-rights")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	s := stranger{filepath.Join(dir, "piton"), filepath.Join(dir, "home")}
	content, err := os.ReadFile(binary)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.program, content, 0o755))
	if len(granted) > 0 {
		kerneltest.GrantFile(t, s.program, granted...)
	}
	require.NoError(t, os.Mkdir(s.home, 0o755))
	require.NoError(t, os.Chown(s.home, strangersID, strangersID))
	return s
}

// command prepares piton; env entries replace those that the stranger has.
func (s stranger) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TERM=dumb"}, env...)
	cmd.Dir = s.home
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangersID, Gid: strangersID}}
	return cmd
}

// run returns all that piton prints, and its exit code.
func (s stranger) run(t *testing.T, env []string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	b, err := s.command(ctx, env, args...).CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		require.NoError(t, err)
		return string(b), 0
	}
	return string(b), ended.ExitCode()
}

// sleeper starts a process of root's that does nothing.
func sleeper(t *testing.T, prepare func(*exec.Cmd)) (pid string) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if prepare != nil {
		prepare(cmd)
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return strconv.Itoa(cmd.Process.Pid)
}

const secret = "pitons-test-secret"

// victim is a process of root's in a directory that everybody might use, below one
// that nobody else may enter: only the links in /proc/PID lead there.
type victim struct{ pid, dir string }

// secretFile is open in the victim, as descriptor 3.
const secretFile = "secret.toml"

func newVictim(t *testing.T) victim {
	t.Helper()
	locked, err := os.MkdirTemp("", "piton-locked") // 0700
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(locked) })
	v := victim{dir: filepath.Join(locked, "open")}
	for _, dir := range []string{"", "piton", "piton/profiles"} {
		require.NoError(t, os.MkdirAll(filepath.Join(v.dir, dir), 0o777))
		require.NoError(t, os.Chmod(filepath.Join(v.dir, dir), 0o777))
	}
	profile := "version = 1\n\n[[" + secret + "]]\n"
	for _, file := range []string{secretFile, "piton/profiles/" + secretFile, "piton/config.toml", "piton/results.jsonl", "piton/journal"} {
		path := filepath.Join(v.dir, file)
		require.NoError(t, os.WriteFile(path, []byte(profile), 0o666))
		require.NoError(t, os.Chmod(path, 0o666))
	}
	held, err := os.OpenFile(filepath.Join(v.dir, secretFile), os.O_RDWR, 0)
	require.NoError(t, err)
	defer held.Close()
	v.pid = sleeper(t, func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Env, cmd.ExtraFiles = v.dir, []string{"SECRET=" + secret}, []*os.File{held}
	})
	return v
}

// proc is a file of the victim's.
func (v victim) proc(name string) string { return filepath.Join("/proc", v.pid, name) }

// state is all that is below the directory.
func (v victim) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.Walk(v.dir, func(path string, info os.FileInfo, err error) error {
		var content []byte
		if err == nil && !info.IsDir() {
			content, err = os.ReadFile(path)
		}
		if errors.Is(err, os.ErrNotExist) || info.IsDir() { // a temporary file
			_, _ = fmt.Fprintln(&all, path)
			return nil
		}
		_, _ = fmt.Fprintln(&all, path, info.Mode(), info.ModTime().UnixNano(), string(content))
		return err
	}))
	return all.String()
}

// hostTree makes a host whose process 77 has a link in place of each file named.
func hostTree(t *testing.T, dir string, links map[string]string) string {
	t.Helper()
	task := filepath.Join(dir, "proc/77")
	require.NoError(t, os.MkdirAll(task, 0o755))
	for _, file := range []string{"stat", "status", "statm", "cmdline", "cgroup"} {
		content, err := os.ReadFile("/proc/self/" + file)
		require.NoError(t, err)
		switch own := strconv.Itoa(os.Getpid()); file {
		case "stat":
			content = []byte("77" + strings.TrimPrefix(string(content), own))
		case "status":
			content = []byte(strings.ReplaceAll(string(content), "id:\t"+own+"\n", "id:\t77\n")) // Tgid, Pid
		}
		require.NoError(t, os.WriteFile(filepath.Join(task, file), content, 0o644))
	}
	for _, file := range []string{"stat", "meminfo", "cpuinfo", "loadavg", "uptime"} {
		content, err := os.ReadFile("/proc/" + file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "proc", file), content, 0o644))
	}
	for file, to := range links {
		_ = os.Remove(filepath.Join(dir, file))
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		require.NoError(t, os.Symlink(to, filepath.Join(dir, file)))
	}
	return dir
}

// advised are the capabilities of the setcap line in the help's page of rights.
func advised(t *testing.T) (granted []kernel.Capability) {
	t.Helper()
	line := regexp.MustCompile(`setcap (\S+)\+p `).FindStringSubmatch(read(t, filepath.Join(pages, "rights.md")))
	require.NotNil(t, line)
	known := map[string]kernel.Capability{"cap_sys_nice": kernel.CapSysNice, "cap_perfmon": kernel.CapPerfmon, "cap_bpf": kernel.CapBPF}
	for name := range strings.SplitSeq(line[1], ",") {
		require.Contains(t, known, name)
		granted = append(granted, known[name])
	}
	return granted
}

// TestPathsOfAStranger is that file capabilities lend no path to their user: nothing
// that nobody could not read or write without piton is read or written by it. The
// capabilities are more than the help advises.
func TestPathsOfAStranger(t *testing.T) {
	const dacReadSearch kernel.Capability = 2
	for name, granted := range map[string][]kernel.Capability{
		"as advised": advised(t),
		"with more":  {kernel.CapSysNice, kernel.CapPerfmon, kernel.CapBPF, kernel.CapSysPtrace, dacReadSearch},
	} {
		t.Run(name, func(t *testing.T) {
			s, v := newStranger(t, granted...), newVictim(t)
			own := sleeper(t, func(cmd *exec.Cmd) {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangersID, Gid: strangersID}}
			})
			tricks(t, s, v, own)
		})
	}
}

func tricks(t *testing.T, s stranger, v victim, own string) {
	before, cwd := v.state(t), v.proc("cwd")
	linked := filepath.Join(s.home, "linked") // the user's directory, whose piton is the victim's
	require.NoError(t, os.Mkdir(linked, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(cwd, "piton"), filepath.Join(linked, "piton")))
	maps := strings.Fields(read(t, v.proc("maps")))[0] // an address
	tree := func(name, file, to string) string {
		return hostTree(t, filepath.Join(s.home, name), map[string]string{file: to})
	}
	sample := []string{"--headless", "-n", "1", "-o", "json"}
	at := func(root string, args ...string) []string { return append([]string{"--host-root", root}, args...) }
	for _, trick := range []struct {
		name string
		env  []string
		args []string
	}{
		{"host tree: environ", nil, at(tree("environ", "proc/77/cmdline", v.proc("environ")), "what-is", "77")},
		{"host tree: maps", nil, at(tree("maps", "proc/77/cmdline", v.proc("maps")), "what-is", "77")},
		{"host tree: descriptor", nil, at(tree("fd", "proc/77/cmdline", v.proc("fd/3")), "what-is", "77")},
		{"host tree: cwd", nil, at(tree("cwd", "proc/77/cmdline", v.proc("cwd/"+secretFile)), "what-is", "77")},
		{"host tree: program", nil, at(tree("exe", "proc/78", v.proc("")), "what-is", "78")},
		{"host tree: whole", nil, append(sample[:5:5], at("/proc/"+v.pid+"/root")...)},
		{"save to cwd", nil, []string{"save", cwd + "/new.toml", own}},
		{"save over cwd", nil, []string{"save", "--force", cwd + "/" + secretFile, own}},
		{"save through root", nil, []string{"save", "--force", v.proc("root") + v.dir + "/new.toml", own}},
		{"save to a descriptor", nil, []string{"save", "--force", v.proc("fd/3"), own}},
		{"save through a link", nil, []string{"save", "--force", linked + "/piton/new.toml", own}},
		{"state directory", []string{"XDG_STATE_HOME=" + cwd}, []string{"pin", own, "--cpu", "0"}},
		{"state directory: link", []string{"XDG_STATE_HOME=" + linked}, []string{"pin", own, "--cpu", "0"}},
		{"state directory: root", []string{"XDG_STATE_HOME=" + v.proc("root") + v.dir}, []string{"journal"}},
		{"state directory: guard", []string{"XDG_STATE_HOME=" + cwd}, []string{"nice", own, "5", "--revert-after", "1s"}},
		{"results written", []string{"XDG_STATE_HOME=" + cwd}, []string{"bench", "nqueens", "-n", "6", "--place", "normal", "--runs", "1"}},
		{"results read", []string{"XDG_STATE_HOME=" + linked}, []string{"bench", "report"}},
		{"profiles listed", []string{"XDG_CONFIG_HOME=" + cwd}, []string{"profiles"}},
		{"profile by name", []string{"XDG_CONFIG_HOME=" + cwd}, []string{"apply", "secret", "--check"}},
		{"profile of a descriptor", nil, []string{"apply", v.proc("fd/3"), "--check"}},
		{"profile of cwd", nil, []string{"verify", cwd + "/" + secretFile}},
		{"environ as a profile", nil, []string{"apply", v.proc("environ"), "--check"}},
		{"temporary files", []string{"TMPDIR=" + cwd}, []string{"bench", "stripio", "--runs", "1"}},
		{"drop-in", nil, []string{"export", "systemd", own, "--dir", cwd}},
	} {
		out, _ := s.run(t, trick.env, trick.args...)
		assert.NotContains(t, out, secret, trick.name)
		assert.NotContains(t, out, maps, trick.name)
		assert.Equal(t, before, v.state(t), trick.name)
		assert.NotContains(t, out, "bin/sleep", trick.name)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}
