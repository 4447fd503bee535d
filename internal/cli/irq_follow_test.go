package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/bpf/bpftest"
	"piton/internal/cli/exit"
	"piton/internal/cli/watchcmd"
	"piton/internal/kernel/kerneltest"
	"piton/internal/topology"
)

// seenFlowsRole makes the test binary a program that sends to itself and records on which
// CPUs its packets are handled and read.
const seenFlowsRole = "PITON_TEST_SEEN_FLOWS"

type seenFlows struct {
	*bpftest.Child
	t *testing.T
}

func startSeenFlows(t *testing.T, words ...any) *seenFlows {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), seenFlowsRole+"="+strings.TrimSpace(fmt.Sprintln(words...)))
	return &seenFlows{bpftest.Start(t, cmd), t}
}

// send has it send once, and returns what it saw.
func (s *seenFlows) send() (seen bpftest.FlowSeen) {
	s.t.Helper()
	require.NoError(s.t, syscall.Kill(int(s.PID), syscall.SIGUSR1))
	line, err := s.Out.ReadBytes('\n')
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(line, &seen), "%s", line)
	return seen
}

// attached is how many programs of this process are attached (proc_pid_fdinfo(5)).
func attached(t *testing.T) (links int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fdinfo/*")
	require.NoError(t, err)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "link_type:") {
			links++
		}
	}
	return links
}

// needFlows skips where flows cannot be counted, and is how many programs count them and
// whether they count UDP too.
func needFlows(t *testing.T) (programs int, udp bool) {
	t.Helper()
	if err := watchcmd.Probe("ebpf-flows"); err != nil {
		t.Skip(err)
	}
	f, err := bpf.OpenFlows(1)
	require.NoError(t, err)
	defer f.Close()
	return len(f.Links), f.UDP()
}

// TestIRQFollowEqualsTheReader holds what the command prints to what the reader has recorded
// itself by SO_INCOMING_CPU and getcpu at each read.
func TestIRQFollowEqualsTheReader(t *testing.T) {
	programs, udp := needFlows(t)
	topo, err := topology.Read("/")
	require.NoError(t, err)
	cpus := topo.Online.CPUs()
	messages := 2000
	if inVM() {
		messages = 500
	}
	senders, readers := cpus[0], fmt.Sprintf("%d,%d", cpus[0], cpus[len(cpus)-1])
	for _, protocol := range []string{"tcp", "udp"} {
		if protocol == "udp" && !udp {
			continue
		}
		t.Run(protocol, func(t *testing.T) {
			child, h, before := startSeenFlows(t, protocol, messages, senders, readers), newHome(t), attached(t)
			ran := make(chan result, 1)
			go func() { ran <- h.run("irq", "follow", fmt.Sprint(child.PID), "--show", "-d", "100ms", "-o", "json") }()
			eventually(t, "the programs are attached", func() bool { return attached(t) == before+programs })
			seen := child.send()
			child.End()
			r := <-ran
			require.Zero(t, r.code, r.err)
			assert.Equal(t, before, attached(t), "nothing stays attached")

			var same, llc, node, all float64
			for _, c := range seen.Cells {
				all += float64(c.Bytes)
				switch d := topo.Distance(c.Handled, c.Consumed); {
				case d == topology.SameCPU:
					same += float64(c.Bytes)
					fallthrough
				case d <= topology.SameLLC:
					llc += float64(c.Bytes)
					fallthrough
				case d <= topology.SameNode:
					node += float64(c.Bytes)
				}
			}
			lines := jsonLines(t, r.out)
			end := lines[len(lines)-1]
			assert.Equal(t, "follow", end["type"])
			assert.Equal(t, uint64(child.PID), number(end, "pid"))
			assert.Equal(t, []any{float64(child.PID)}, end["pids"])
			assert.Equal(t, "kernel", end["policy"])
			assert.InEpsilon(t, all, end["bytes"], 0.01)
			assert.InDelta(t, same/all, end["share_same_cpu"], 0.01)
			assert.InDelta(t, llc/all, end["share_same_llc"], 0.01)
			assert.InDelta(t, node/all, end["share_same_node"], 0.01)
			assert.Zero(t, end["lost"])
			t.Logf("the reader saw %.4f %.4f %.4f of %.0f bytes; printed %v %v %v of %v", same/all, llc/all, node/all, all,
				end["share_same_cpu"], end["share_same_llc"], end["share_same_node"], end["bytes"])
			bytes := uint64(0)
			for _, l := range ofType(lines, "flow") {
				bytes += number(l, "bytes")
				assert.Equal(t, protocol, l["protocol"])
				assert.Equal(t, seen.Local.String(), l["local"])
				assert.Equal(t, seen.Remote.String(), l["remote"])
				assert.Equal(t, false, l["other_netns"])
				if protocol == "tcp" {
					assert.Equal(t, "lo", l["interface"])
					assert.NotNil(t, l["via"])
				}
			}
			assert.Equal(t, number(end, "bytes"), bytes, "the lines add up")
		})
	}
}

func TestIRQFollowPrintsATable(t *testing.T) {
	programs, _ := needFlows(t)
	child, h, before := startSeenFlows(t, "tcp", 100, 0, 0), newHome(t), attached(t)
	ran := make(chan result, 1)
	go func() { ran <- h.run("irq", "follow", fmt.Sprint(child.PID), "--show", "-d", "1h") }()
	eventually(t, "the programs are attached", func() bool { return attached(t) == before+programs })
	seen := child.send()
	child.End()
	r := <-ran
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, `^\d\d:\d\d:\d\d  1 flow, `, r.out)
	assert.Contains(t, r.out, "HANDLED ON")
	assert.Contains(t, r.out, seen.Local.String())
	assert.Contains(t, r.out, "400K of 1 flow in ")
	assert.Contains(t, r.out, "on the CPU that handled the packets")
}

func TestIRQFollowOfWhatIsNotThere(t *testing.T) {
	if err := watchcmd.Probe("ebpf-flows"); err != nil {
		t.Skip(err)
	}
	h, pid := newHome(t), fmt.Sprint(sleeper(t))
	r := h.run("irq", "follow", "--show", nobody)
	assert.Equal(t, exit.Failed, r.code)
	assert.Empty(t, r.out)
	assert.Contains(t, r.err, "there is no process or thread "+nobody)
	r = h.run("irq", "follow", nobody, pid, "--show", "--for", "10ms")
	assert.Equal(t, exit.Some, r.code, r.err)
	r = h.run("irq", "follow", "thread:/./", "--show", "--for", "10ms")
	assert.Equal(t, exit.Usage, r.code, r.err)
}

func TestIRQFollowAsNobody(t *testing.T) {
	kerneltest.NeedRoot(t, "to become somebody else")
	cmd := asNobody(t, "irq", "follow", "1", "--show", "--for", "100ms")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	assert.Error(t, err)
	assert.Empty(t, out)
	assert.Contains(t, errs.String(), "network flows by eBPF: it takes CAP_BPF and CAP_PERFMON, which this process does not have")
	assert.Equal(t, exit.NotPermitted, cmd.ProcessState.ExitCode())
}
