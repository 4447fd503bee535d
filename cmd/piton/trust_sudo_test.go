package main_test

import (
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

// The test binary that plays the scenes of TestTrustSudo has the path of piton, and the
// mount namespace that it must not be in, in its environment.
const (
	insideSudo  = "PITON_TEST_SUDO"
	outsideSudo = "PITON_TEST_SUDO_OUTSIDE"
)

const (
	typistsID = 31415
	typistsPW = "typed-by-piton"
	// typistsHash is what openssl passwd -6 makes of it.
	typistsHash = "$6$pitontest$OhfV55Jmb2YOoBOFOW1yYNtxdz9ngZlRhUE.dUKDIWubI4s7DThWH4cayNVKwsVgNv0.o4LmYOjIXy6Ns5noA1"
)

var typist = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: typistsID, Gid: typistsID}}

// TestTrustSudo is a user who has changes made from the screen through the real sudo,
// and types the password. The machine's /etc and PIDs are left alone: the scenes have
// mounts and a PID namespace of their own, which end with them.
func TestTrustSudo(t *testing.T) {
	if os.Getenv(insideSudo) != "" {
		playSudo(t)
		return
	}
	if testing.Short() {
		t.Skip("drives a real terminal")
	}
	kerneltest.NeedRoot(t, "to make a user and namespaces")
	needProgram(t, "tmux")
	needProgram(t, "sudo")
	namespaces := []string{"--mount", "--pid", "--fork", "--mount-proc", "--propagation", "private", "--kill-child"}
	if out, err := exec.Command("unshare", append(namespaces, "true")...).CombinedOutput(); err != nil {
		t.Skip("no namespaces here: ", string(out))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("unshare", append(namespaces, "sh", "-c", `"$0" "$@"; exit $?`, // sh reaps, as PID 1
		self, "-test.run=^TestTrustSudo$", "-test.v", "-test.timeout=9m")...)
	cmd.Env = append(os.Environ(), insideSudo+"="+binary, outsideSudo+"="+mountNamespace(t))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}

func mountNamespace(t *testing.T) string {
	t.Helper()
	name, err := os.Readlink("/proc/self/ns/mnt")
	require.NoError(t, err)
	return name
}

// playSudo makes the user, and plays the scenes.
func playSudo(t *testing.T) {
	require.NotEqual(t, os.Getenv(outsideSudo), mountNamespace(t), "the machine's /etc is not to be hidden")
	program, err := os.ReadFile(binary)
	require.NoError(t, err)
	for _, dir := range []string{"/etc", "/run", "/var/lib"} { // the last two have sudo's state and piton's
		require.NoError(t, syscall.Mount("piton", dir, "tmpfs", 0, "mode=755"), dir)
	}
	host, err := os.Hostname()
	require.NoError(t, err)
	id := strconv.Itoa(typistsID)
	for path, content := range map[string]string{
		"/etc/passwd":        "root:x:0:0::/root:/bin/sh\ntypist:x:" + id + ":" + id + "::/run/typist:/bin/sh\n",
		"/etc/group":         "root:x:0:\ntypist:x:" + id + ":\n",
		"/etc/shadow":        "root:*:20000::::::\ntypist:" + typistsHash + ":20000::::::\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
		"/etc/hosts":         "127.0.0.1 localhost " + host + "\n",
		"/etc/pam.d/sudo":    "auth required pam_unix.so\naccount required pam_unix.so\nsession required pam_permit.so\n",
		"/run/bin/piton":     string(program),
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
	}
	require.NoError(t, os.Chmod("/etc/shadow", 0o600))
	binary = "/run/bin/piton"
	for _, dir := range []string{"/run/typist", "/run/user", "/run/user/" + id} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	for _, dir := range []string{"/run/typist", "/run/user/" + id} {
		require.NoError(t, os.Chown(dir, typistsID, typistsID))
	}
	for name, scene := range map[string]func(*testing.T){
		"busy": sudoBusy, "reused PID": sudoReused, "declined": sudoDeclined, "isolate": sudoIsolate,
	} {
		for _, pty := range []string{"use_pty", "!use_pty"} { // whether the child has a terminal of its own
			t.Run(name+", "+pty, func(t *testing.T) {
				sudoers(t, pty)
				scene(t)
			})
		}
	}
}

// sudoers lets the user do everything, after a password each time.
func sudoers(t *testing.T, options string) {
	t.Helper()
	text := "Defaults env_reset, timestamp_timeout=0, " + options + "\ntypist ALL=(ALL:ALL) ALL\n"
	require.NoError(t, os.WriteFile("/etc/sudoers", []byte(text), 0o440))
}

// start starts a program under the name that the screens' filter is about.
func start(t *testing.T, whose *syscall.SysProcAttr, program string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath(program)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("/run", "")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "quarry")
	require.NoError(t, os.Symlink(program, path))
	cmd := exec.Command(path, args...)
	cmd.Args[0], cmd.SysProcAttr = filepath.Base(program), whose
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// quarry is the PID of such a program.
func quarry(t *testing.T, whose *syscall.SysProcAttr, program string, args ...string) int {
	t.Helper()
	return start(t, whose, program, args...).Process.Pid
}

// typistsScreen is piton's screen in a terminal of the user's, with the quarries in it.
func typistsScreen(t *testing.T) *terminal {
	t.Helper()
	dir, err := os.MkdirTemp("/run/typist", "")
	require.NoError(t, err)
	require.NoError(t, os.Chown(dir, typistsID, typistsID))
	term := &terminal{t: t, socket: filepath.Join(dir, "tmux"), as: typist}
	term.open(140, 40, "HOME=/run/typist")
	term.run("piton")
	term.wait(`\[1 Processes\]`)
	term.keys(`\`, "quarry", "Enter")
	return term
}

func (term *terminal) selectPID(pid int) {
	term.t.Helper()
	term.wait(`^.\s*` + pidText(pid) + ` `)
	term.keys("/", pidText(pid), "Enter")
	term.wait(`^▌\s*` + pidText(pid) + ` `)
}

// answer says yes to a question that opens by itself. It shows which key Enter is once
// it takes keys, so that keys in flight do not answer it.
func (term *terminal) answer(ready string) {
	term.t.Helper()
	term.wait(regexp.QuoteMeta(ready))
	term.tmux("send-keys", "y")
}

const (
	apply   = "[y apply]"
	useSudo = "[y use sudo]"
	keep    = "y keep  [n revert]"
)

var asksPassword = regexp.MustCompile(`password for typist: *\s*\z`)

// asked waits until sudo asks for the password.
func (term *terminal) asked() {
	term.t.Helper()
	term.until("sudo's question", func() bool { return asksPassword.MatchString(term.frame()) })
}

// password types the password where sudo asks for it.
func (term *terminal) password() {
	term.t.Helper()
	term.asked()
	term.tmux("send-keys", typistsPW, "Enter")
	term.wait(`\[1 Processes\]`)
}

func policyOf(t *testing.T, pid int) kernel.Policy {
	t.Helper()
	a, err := kernel.System().Attr(kernel.TID(pid))
	require.NoError(t, err)
	return a.Policy
}

func niceOf(t *testing.T, pid int) int {
	t.Helper()
	nice, err := kernel.System().Nice(kernel.TID(pid))
	require.NoError(t, err)
	return nice
}

func (term *terminal) askFIFO() {
	term.t.Helper()
	term.keys("Y")
	term.wait(`Policy of quarry`)
	term.keys("Down", "Down", "Down")
	term.wait(`▌f +\(•\) FIFO `)
	term.keys("5", "Enter")
}

// sudoBusy makes a busy task of root's real-time, and undoes that and nothing else.
func sudoBusy(t *testing.T) {
	needCPUs01(t) // on one CPU it would take all there is, which is another question
	busy := quarry(t, nil, "sh", "-c", "ulimit -t 60; while :; do :; done")
	own := quarry(t, typist, "sleep", "300")
	nice := niceOf(t, own)
	term := typistsScreen(t)
	term.selectPID(own)
	term.keys("[")
	term.answer(apply) // without rights it is one-way
	term.until("nice is raised", func() bool { return niceOf(t, own) == nice+1 })
	term.selectPID(busy)
	term.askFIFO()
	term.wait(`busy all the time`)
	term.answer(useSudo)
	term.password()
	term.wait(`Keep it\?`)
	require.Equal(t, kernel.FIFO, policyOf(t, busy))
	term.answer(keep)
	term.password()
	term.wait(`kept: quarry .*FIFO:5 .*\(through sudo\)`)
	require.Equal(t, kernel.FIFO, policyOf(t, busy))

	term.keys("z")
	term.password()
	term.wait(`undo: quarry .*OTHER .*\(through sudo\)`)
	require.Equal(t, kernel.Other, policyOf(t, busy))
	require.Equal(t, nice+1, niceOf(t, own), "the user's own entry, which is older, is in force")

	term.keys("z")
	term.answer(useSudo) // lowering nice takes more rights than raising it did
	term.password()
	term.wait(fmt.Sprintf(`undo: quarry .*nice %d .*\(through sudo\)`, nice))
	assert.Equal(t, nice, niceOf(t, own))
}

// sudoReused ends a process while the password of its change, and of the undo, is
// awaited, and gives the PID to another.
func sudoReused(t *testing.T) {
	var target *exec.Cmd
	replace := func() {
		require.NoError(t, target.Process.Kill())
		_ = target.Wait()
		target = reuse(t, target.Process.Pid)
	}
	target = start(t, nil, "sleep", "300")
	pid := target.Process.Pid
	term := typistsScreen(t)
	term.selectPID(pid)
	term.askFIFO()
	term.answer(useSudo)
	term.asked()
	replace()
	term.password()
	term.wait(`policy quarry \(` + pidText(pid) + `\): ` + pidText(pid) + ` has ended`)
	assert.Equal(t, kernel.Other, policyOf(t, pid), "it is another process")

	target = start(t, nil, "sleep", "300")
	pid = target.Process.Pid
	term.selectPID(pid)
	term.askFIFO()
	term.answer(useSudo)
	term.password()
	term.wait(`quarry .*FIFO:5 .*\(through sudo\)`)
	require.Equal(t, kernel.FIFO, policyOf(t, pid))
	term.keys("z")
	term.asked()
	replace()
	_ = output(t, "chrt", "-f", "-p", "5", pidText(pid))
	term.password()
	term.wait(`undo: ` + pidText(pid) + ` has ended, so there is nothing to undo`)
	assert.Equal(t, kernel.FIFO, policyOf(t, pid), "it is another process")
}

// sudoDeclined is ^C and ^\ in place of the password: they end sudo, and not the screen.
func sudoDeclined(t *testing.T) {
	pid := quarry(t, nil, "sleep", "300")
	term := typistsScreen(t)
	term.selectPID(pid)
	for _, key := range []string{"C-c", `C-\`, "C-c"} {
		term.askFIFO()
		term.answer(useSudo)
		term.asked()
		term.tmux("resize-window", "-x", "139") // what the screen hears of that comes first, later
		last := time.Time{}
		term.until("sudo is declined", func() bool {
			frame := term.frame()
			// sudo loses a key that comes while a new size makes it ask once more.
			if asksPassword.MatchString(frame) && time.Since(last) > 5*time.Second {
				term.tmux("send-keys", key)
				last = time.Now()
			}
			return strings.Contains(frame, "policy through sudo: ")
		})
		assert.Equal(t, kernel.Other, policyOf(t, pid))
		term.tmux("resize-window", "-x", "140")
	}
	term.askFIFO()
	term.answer(useSudo)
	term.password()
	term.wait(`quarry .*FIFO:5 .*\(through sudo\)`)
	assert.Equal(t, kernel.FIFO, policyOf(t, pid))
}

// sudoIsolate takes a CPU from every task that the scenes' PID namespace has.
func sudoIsolate(t *testing.T) {
	needCPUs01(t)
	copyMasks(t)
	pid := quarry(t, nil, "sleep", "300")
	before := maskOf(t, kernel.TID(pid))
	term := typistsScreen(t)
	term.keys("C", "1", "Space", "I")
	term.wait(`through sudo, which may ask`)
	term.answer(apply)
	term.password()
	term.wait(`isolating CPU 1 leaves `)
	term.answer(keep)
	term.password()
	term.wait(`kept: isolate: .* moved off cpu 1`)
	set, err := kernel.System().Affinity(kernel.TID(pid))
	require.NoError(t, err)
	assert.False(t, set.Has(1), "%s", set)
	term.keys("z")
	term.password()
	term.wait(`undo: .*`)
	assert.Equal(t, before, maskOf(t, kernel.TID(pid)))
}

// copyMasks puts copies over what isolating changes besides tasks, because no namespace
// has interrupts and workqueues of its own; and hides the network's queues.
func copyMasks(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"/proc/irq", "/sys/devices/virtual/workqueue"} {
		copies := t.TempDir()
		_ = exec.Command("cp", "-r", dir+"/.", copies).Run() // some files cannot be read
		require.NoError(t, syscall.Mount(copies, dir, "", syscall.MS_BIND, ""), dir)
		t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	}
	require.NoError(t, syscall.Mount("piton", "/sys/class/net", "tmpfs", 0, ""))
	t.Cleanup(func() { _ = syscall.Unmount("/sys/class/net", 0) })
}
