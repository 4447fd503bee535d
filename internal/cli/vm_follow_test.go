package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/standstill"
	"piton/internal/model"
)

const (
	// flowRole makes the test binary one end of a connection: consumerEnd, or the address to
	// which the other end sends.
	flowRole    = "PITON_TEST_FLOW"
	consumerEnd = "consumer"
	// flowTime bounds the life of both.
	flowTime = 10 * time.Minute
	// soIncomingCPU is SO_INCOMING_CPU of socket(7).
	soIncomingCPU = 49
	// strip is how many bytes are sent at a time; the next ones wait until these were read,
	// so that few are under way when the consumer moves, however slow the machine is.
	strip = 16 << 10
	// stay is how many strips the consumer reads before it moves.
	stay = 100
)

// playFlow is one end of a connection.
func playFlow(role string) {
	go func() {
		time.Sleep(flowTime)
		os.Exit(1)
	}()
	runtime.LockOSThread() // whose CPU it is
	end := sendFlow
	if role == consumerEnd {
		end = func(string) error { return consumeFlow() }
	}
	if err := end(role); err != nil {
		panic(err)
	}
}

// sendFlow sends strips from CPU 0 to an address.
func sendFlow(address string) error {
	if err := sched.SetAffinity(0, cpuset.Of(0)); err != nil {
		return err
	}
	conn, err := net.Dial("tcp4", address)
	if err != nil {
		return err
	}
	buf, read := make([]byte, strip), make([]byte, 1)
	for {
		if _, err := conn.Write(buf); err != nil {
			return nil // the test has ended the other end
		}
		if _, err := conn.Read(read); err != nil {
			return nil
		}
	}
}

// consumeFlow prints an address, reads what is sent to it on CPU 1 and above in turn, and answers
// each line of standard input with the bytes read until then, and those of them that were
// processed on the CPU that read them.
func consumeFlow() error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return err
	}
	defer file.Close()   // a file that nobody holds is closed
	fd := int(file.Fd()) // which makes it block
	asked := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			asked <- struct{}{}
		}
	}()
	all, near, cpu := 0, 0, 0
	buf := make([]byte, strip)
	for strips := 0; ; {
		if strips%stay == 0 && all%strip == 0 {
			cpu = cpu%(runtime.NumCPU()-1) + 1
			if err := sched.SetAffinity(0, cpuset.Of(cpuset.CPU(cpu))); err != nil {
				return err
			}
		}
		n, err := syscall.Read(fd, buf)
		if n <= 0 {
			return err
		}
		in, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, soIncomingCPU)
		if err != nil {
			return err
		}
		if all += n; in == cpu {
			near += n
		}
		if all%strip == 0 {
			strips++
			if _, err := syscall.Write(fd, buf[:1]); err != nil {
				return err
			}
		}
		select {
		case <-asked:
			fmt.Println(all, near)
		default:
		}
	}
}

// flow is a connection whose consumer moves.
type flow struct {
	t        *testing.T
	consumer kernel.TID
	ask      io.Writer
	answers  *bufio.Reader
}

func newFlow(t *testing.T) *flow {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	start := func(role string) (*exec.Cmd, io.Writer, *bufio.Reader) {
		cmd := exec.Command(self)
		cmd.Env, cmd.Stderr = append(os.Environ(), flowRole+"="+role), os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd, in, bufio.NewReader(out)
	}
	f := &flow{t: t}
	var consumer *exec.Cmd
	consumer, f.ask, f.answers = start(consumerEnd)
	f.consumer = kernel.TID(consumer.Process.Pid)
	var address string
	_, err = fmt.Fscanln(f.answers, &address)
	require.NoError(t, err)
	start(address)
	return f
}

// counted is what the consumer itself has counted until now.
func (f *flow) counted() (all, near int) {
	f.t.Helper()
	_, err := fmt.Fprintln(f.ask)
	require.NoError(f.t, err)
	_, err = fmt.Fscanln(f.answers, &all, &near)
	require.NoError(f.t, err)
	return all, near
}

// near is the share of the bytes of some time that were processed on their consumer's CPU, as
// the consumer itself counts them.
func (f *flow) near(d time.Duration) float64 {
	f.t.Helper()
	all, near := f.counted()
	time.Sleep(d)
	nowAll, nowNear := f.counted()
	require.Greater(f.t, nowAll, all, "something was sent")
	return float64(nowNear-near) / float64(nowAll-all)
}

// steer prepares steering of a process's packets; what is seen of its flows is made up.
func (h *home) steer(pid kernel.TID, seen action.Seen, adjust func(*action.SteerAsk)) *action.Steering {
	h.t.Helper()
	a := &app.App{IO: app.IO{Env: h.env, Out: io.Discard, Err: os.Stderr}, HostRoot: "/"}
	tuner, err := a.Tuner()
	require.NoError(h.t, err)
	topo, err := a.Topology()
	require.NoError(h.t, err)
	ask := action.SteerAsk{Targets: []change.Target{{TID: pid}}, Policy: action.PolicyCurrent, Topology: topo,
		Look: func(context.Context, time.Duration) (action.Seen, error) { return seen, nil }}
	adjust(&ask)
	steering, err := action.LookAt(h.t.Context(), tuner, ask)
	require.NoError(h.t, err)
	require.NotEmpty(h.t, steering.Way, steering.Why)
	return steering
}

// follow runs piton irq follow to its end, and returns its last line.
func (h *home) follow(pid kernel.TID, args ...string) map[string]any {
	h.t.Helper()
	r := h.run(append([]string{"irq", "follow", fmt.Sprint(pid), "-o", "json"}, args...)...)
	require.Zero(h.t, r.code, r.err)
	lines := ofType(jsonLines(h.t, r.out), "follow")
	require.Len(h.t, lines, 1)
	return lines[0]
}

// needSteeringVM skips in machines that are not made for it: their emulated CPUs start piton slowly.
func needSteeringVM(t *testing.T) vmShape {
	t.Helper()
	s := needVM(t)
	if s.nodes > 1 {
		t.Skip("make weekly boots a machine of one node for it")
	}
	return s
}

// steeringRun is a piton irq follow that runs.
type steeringRun struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	ended chan error
}

// startSteering starts piton irq follow and waits until RFS is on. It returns nil where the
// machine stood still until the guard's answer was too late: then it changes nothing and ends.
func (h *home) startSteering(f *flow, before map[string]string, args ...string) *steeringRun {
	h.t.Helper()
	watched := standstill.Watch()
	r := &steeringRun{cmd: h.program(append([]string{"irq", "follow", fmt.Sprint(f.consumer)}, args...)...), ended: make(chan error, 1)}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, os.Stderr
	require.NoError(h.t, r.cmd.Start())
	h.t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	go func() { r.ended <- r.cmd.Wait() }()
	on := false
	eventually(h.t, "it steers or ends", func() bool {
		on = len(differences(before, masks(h.t))) == 2
		return on || len(r.ended) > 0
	})
	stood := watched()
	if !on && !stood.Judged(h.t) {
		return nil
	}
	require.True(h.t, on, "it has ended without steering")
	return r
}

// TestVMSteering moves a consumer to and fro: RFS follows it, and leaves nothing behind. The
// shares are those that the consumer counts, too.
func TestVMSteering(t *testing.T) {
	needSteeringVM(t)
	f, before, h := newFlow(t), masks(t), newHome(t)
	counted := f.near(time.Second)
	piton := h.startSteering(f, before, "--for", "20s", "-o", "json")
	if piton == nil {
		return
	}
	steered := f.near(3 * time.Second)
	require.NoError(t, <-piton.ended)
	is := ofType(jsonLines(t, piton.out.String()), "follow")[0]
	t.Logf("before %v, as the consumer counts %.4f; then %v, as the consumer counts %.4f", is["share_same_cpu_before"], counted, is["share_same_cpu"], steered)
	assert.Equal(t, []any{"rfs", "current", true, nil}, []any{is["via"], is["policy"], is["steered"], is["error"]})
	assert.Less(t, is["share_same_cpu_before"], 0.6)
	assert.Greater(t, is["share_same_cpu"], 0.95)
	assert.InDelta(t, counted, is["share_same_cpu_before"], 0.01)
	assert.InDelta(t, steered, is["share_same_cpu"], 0.01)
	assert.Empty(t, differences(before, masks(t)))
	assert.Contains(t, h.run("undo", "--all").err, "nothing to undo")
}

// TestVMSteeringPolicies has the kernel process packets where each policy says.
func TestVMSteeringPolicies(t *testing.T) {
	s := needSteeringVM(t)
	f, before, h := newFlow(t), masks(t), newHome(t)
	is := h.follow(f.consumer, "--policy", "apart")
	assert.Equal(t, []any{"sender", false}, []any{is["via"], is["steered"]}, "the sender's CPU is another one already: %v", is["why"])
	for _, policy := range []string{"least-loaded", fmt.Sprintf("dedicated=%d", s.cpus-1)} {
		dry := h.follow(f.consumer, "--policy", policy, "--dry-run")
		assert.Equal(t, []any{"rps", false}, []any{dry["via"], dry["steered"]}, policy)
		require.Empty(t, differences(before, masks(t)), "nothing is set")
		is := h.follow(f.consumer, "--policy", policy, "--for", "4s")
		t.Logf("%s: %v, then %v", policy, is["share_same_cpu_before"], is["share_same_cpu"])
		assert.Equal(t, []any{"rps", true, []any{"xdp: lo has no driver: XDP is generic there", "irq: lo is a virtual interface: it has no interrupts"}}, []any{is["via"], is["steered"], is["why"]}, policy)
		require.Empty(t, differences(before, masks(t)))
	}
	is = h.follow(f.consumer, "--via", "xdp-generic", "--for", "4s")
	t.Logf("by XDP: %v, then %v", is["share_same_cpu_before"], is["share_same_cpu"])
	assert.Equal(t, []any{"xdp-generic", true}, []any{is["via"], is["steered"]}, is["error"])
	assert.Greater(t, is["share_same_cpu"], is["share_same_cpu_before"])
	is = h.follow(f.consumer, "--try", "12s")
	t.Logf("tried: %v, %v without and %v with", is["verdict"], is["rate_off"], is["rate_on"])
	assert.NotEmpty(t, is["verdict"])
	require.Empty(t, differences(before, masks(t)))
}

// TestVMKilledSteering kills piton while it steers: its guard restores what was there.
func TestVMKilledSteering(t *testing.T) {
	needSteeringVM(t)
	f, before, h := newFlow(t), masks(t), newHome(t)
	for range 2 {
		piton := h.startSteering(f, before)
		if piton == nil {
			return
		}
		killed := time.Now()
		require.NoError(t, piton.cmd.Process.Kill())
		<-piton.ended
		eventually(t, "it is as before", func() bool { return len(differences(before, masks(t))) == 0 })
		t.Logf("as before after %v", time.Since(killed))
	}
	all, _ := f.counted()
	time.Sleep(100 * time.Millisecond)
	more, _ := f.counted()
	assert.Greater(t, more, all, "and the connection goes on")
}

// TestVMRuleFollows has a rule steer, and undoes that when it ends by itself or is killed.
func TestVMRuleFollows(t *testing.T) {
	needSteeringVM(t)
	f, before, h := newFlow(t), masks(t), newHome(t)
	self, err := os.Executable()
	require.NoError(t, err)
	text := fmt.Sprintf("version = 1\n[[rule]]\nname = 'moving'\ncomm = '%s'\nfollow = 'current'\n", filepath.Base(self))
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		d := startRules(t, h, text)
		var is map[string]any
		eventually(t, "it steers", func() bool { // a slow machine has received nothing at the first look
			lines := d.lines("steered")
			i := slices.IndexFunc(lines, func(l map[string]any) bool { return l["event"] == "steered" })
			if i >= 0 {
				is = lines[i]
			}
			return i >= 0
		})
		assert.Equal(t, []any{"moving", "rfs", nil}, []any{is["rule"], is["via"], is["error"]})
		assert.Greater(t, f.near(2*time.Second), 0.95)
		require.NoError(t, d.cmd.Process.Signal(signal))
		d.wait()
		eventually(t, "it is as before", func() bool { return len(differences(before, masks(t))) == 0 })
	}
}

// veth makes a pair of interfaces, of which the first has this name.
func veth(t *testing.T, name string) {
	t.Helper()
	for _, words := range [][]string{{"link", "add", name, "type", "veth"}, {"link", "set", name, "up"}} {
		out, err := exec.Command("ip", words...).CombinedOutput()
		require.NoError(t, err, "ip %v: %s", words, out)
	}
}

// TestVMSteeringEnds has happen to interfaces, CPUs and processes what can while packets are
// steered.
func TestVMSteeringEnds(t *testing.T) {
	s := needSteeringVM(t)
	const name = "pair0"
	last := s.cpus - 1
	online := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/online", last)
	ip := func(words ...string) func(kernel.TID) {
		return func(kernel.TID) {
			out, err := exec.Command("ip", words...).CombinedOutput()
			assert.NoError(t, err, "ip %v: %s", words, out)
		}
	}
	for _, tt := range []struct {
		what   string
		policy action.Policy
		happen func(pid kernel.TID)
		want   string
	}{
		{"down", action.PolicyCurrent, ip("link", "set", name, "down"), "interface pair0 went down"},
		{"removed", action.PolicyCurrent, ip("link", "del", name), "interface pair0 was removed"},
		{"replaced", action.PolicyCurrent, func(kernel.TID) {
			ip("link", "del", name)(0)
			veth(t, name)
		}, "interface pair0 was replaced by another one with its name"},
		{"removed under RPS", action.PolicyLeastLoaded, ip("link", "del", name), "interface pair0 was removed"},
		{"CPU offline", action.PolicyDedicated, func(kernel.TID) { write(t, online, "0") }, fmt.Sprintf("CPU %d went offline", last)},
		{"ended", action.PolicyCurrent, func(pid kernel.TID) { assert.NoError(t, syscall.Kill(int(pid), syscall.SIGKILL)) }, ""}, // is no failure
	} {
		t.Run(tt.what, func(t *testing.T) {
			h, pid := newHome(t), sleeper(t)
			veth(t, name)
			defer func() {
				_ = exec.Command("ip", "link", "del", name).Run()
				_ = os.WriteFile(online, []byte("1"), 0)
			}()
			before := masks(t)
			steering := h.steer(pid, action.Seen{Locality: model.Locality{Bytes: 1, Placed: 1}, NICs: []string{name}}, func(ask *action.SteerAsk) {
				ask.Policy, ask.CPUs = tt.policy, cpuset.Of(cpuset.CPU(last))
			})
			err := steering.Run(t.Context(), time.Minute, func(action.Seen) { tt.happen(pid) })
			if tt.want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tt.want)
			}
			after := masks(t)
			for file := range before {
				if _, there := after[file]; !there {
					delete(before, file) // of the interface that is gone
				}
			}
			assert.Empty(t, differences(before, after))
			assert.Contains(t, h.run("undo", "--all").err, "nothing to undo")
		})
	}
}
