package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
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
)

const (
	// flowRole makes the test binary one end of a connection: consumerEnd, or the address to
	// which the other end sends.
	flowRole    = "PITON_TEST_FLOW"
	consumerEnd = "consumer"
	// flowTime bounds the life of both.
	flowTime = 3 * time.Minute
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

// TestVMSteering moves a consumer to and fro: RFS follows it, and leaves nothing behind.
func TestVMSteering(t *testing.T) {
	needVM(t)
	f, before, h := newFlow(t), masks(t), newHome(t)
	steering := h.steer(f.consumer, action.Seen{}, func(ask *action.SteerAsk) {
		ask.Look = func(_ context.Context, d time.Duration) (action.Seen, error) {
			near := f.near(d)
			return action.Seen{Bytes: 1, SameCPU: near, SameLLC: near, NICs: []string{"lo"}}, nil
		}
	})
	t.Logf("before: %.3f", steering.Before.SameCPU)
	assert.Less(t, steering.Before.SameCPU, 0.6)
	require.NoError(t, steering.Run(t.Context(), 6*time.Second, func(after action.Seen) {
		t.Logf("then: %.3f", after.SameCPU)
		assert.Greater(t, after.SameCPU, 0.95)
		assert.NotEmpty(t, differences(before, masks(t)))
	}))
	assert.Empty(t, differences(before, masks(t)))
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
	s := needVM(t)
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
		{"CPU offline", action.PolicyDedicated, func(kernel.TID) { assert.NoError(t, os.WriteFile(online, []byte("0"), 0)) }, fmt.Sprintf("CPU %d went offline", last)},
		{"ended", action.PolicyCurrent, func(pid kernel.TID) { assert.NoError(t, syscall.Kill(int(pid), syscall.SIGKILL)) }, "the process has ended"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			h, pid := newHome(t), sleeper(t)
			veth(t, name)
			defer func() {
				_ = exec.Command("ip", "link", "del", name).Run()
				_ = os.WriteFile(online, []byte("1"), 0)
			}()
			before := masks(t)
			steering := h.steer(pid, action.Seen{Bytes: 1, NICs: []string{name}}, func(ask *action.SteerAsk) {
				ask.Policy, ask.CPUs = tt.policy, cpuset.Of(cpuset.CPU(last))
			})
			err := steering.Run(t.Context(), time.Minute, func(action.Seen) { tt.happen(pid) })
			assert.ErrorContains(t, err, tt.want)
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
