package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/history"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/model"
	"piton/internal/topology/topologytest"
)

// bystander is a guard that never has to act.
type bystander struct{ change.Guard }

func (b bystander) Arm(time.Duration) (change.Guard, error) { return b, nil }
func (bystander) Undone(e []uint64) ([]uint64, error)       { return e, nil }
func (bystander) List() ([]history.GuardState, error)       { return nil, nil }
func (bystander) Tell([]byte) error                         { return nil }
func (bystander) Stands() error                             { return nil }
func (bystander) Dismiss() error                            { return nil }

const (
	entriesFile = "/proc/sys/net/core/rps_sock_flow_entries"
	loFlows     = "/sys/class/net/lo/queues/rx-0/rps_flow_cnt"
	loRPS       = "/sys/class/net/lo/queues/rx-0/rps_cpus"
)

// network is a machine of CPUs 0-3 with lo, and process 10, whose packets come in by it.
type network struct {
	*changetest.Machine
	tuner *change.Tuner
	ask   SteerAsk
	seen  Seen
}

// seenNear is what was seen of 100 bytes that came in by lo.
func seenNear(cpu, llc uint64) Seen {
	return Seen{Locality: model.Locality{Bytes: 100, Placed: 100, SameCPU: cpu, SameLLC: llc, SameNode: 100}, NICs: []string{"lo"}, Consumers: cpuset.Of(1)}
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{Machine: changetest.New(t), seen: seenNear(60, 100)}
	n.Spawn(10, 10)
	n.setting(entriesFile, "0")
	n.setting(loFlows, "0")
	n.setting(loRPS, "0")
	n.link("lo", 1, true)
	n.idle(100, 100, 100, 100)
	n.tuner = n.Tuner(change.Options{Journal: changetest.Journal(t), Guards: bystander{}})
	n.ask = SteerAsk{
		Targets: []change.Target{{TID: 10}}, Policy: PolicyCurrent, Topology: topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 4}),
		Look:   func(context.Context, time.Duration) (Seen, error) { return n.seen, nil },
		Ntuple: func(string) (Filters, error) { return Filters{}, nil },
		hooks:  &fakeHooks{refusal: errors.New("no programs here")},
	}
	return n
}

// setting makes a setting, for those who set it and for those who only read.
func (n *network) setting(path, text string) {
	n.Settings.Put(path, text+"\n")
	n.Write(path, text+"\n")
}

func (n *network) link(name string, index int, up bool) {
	flags := 0x8
	if up {
		flags |= 1
	}
	n.Write("sys/class/net/"+name+"/ifindex", fmt.Sprintln(index))
	n.Write("sys/class/net/"+name+"/flags", fmt.Sprintf("%#x\n", flags))
}

// idle is how many ticks the CPUs have been idle; they have been busy for 100.
func (n *network) idle(ticks ...int) {
	text := "cpu 1 0 0 1\n"
	for cpu, idle := range ticks {
		text += fmt.Sprintf("cpu%d 100 0 0 %d 0 0 0 0 0 0\n", cpu, idle)
	}
	n.Write("proc/stat", text)
}

func (n *network) lookAt(t *testing.T) (*Steering, error) {
	t.Helper()
	return LookAt(t.Context(), n.tuner, n.ask)
}

// preview is what would be set.
func (n *network) preview(t *testing.T, s *Steering) []string {
	t.Helper()
	out, err := s.Preview(t.Context())
	require.NoError(t, err)
	return changetest.Brief(out.Changes)
}

func (n *network) setNow() map[string]string {
	all := n.Settings.All()
	return map[string]string{"entries": all[entriesFile], "flows": all[loFlows], "rps": all[loRPS]}
}

var allOff = map[string]string{"entries": "0\n", "flows": "0\n", "rps": "0\n"}

// off is whether everything is as it was; a mask is read back as wide as it was written.
func (n *network) assertOff(t *testing.T) {
	t.Helper()
	now := n.setNow()
	if now["rps"] == "00000000\n" {
		now["rps"] = "0\n"
	}
	assert.Equal(t, allOff, now)
}

func TestCurrentIsRFS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		s, err := n.lookAt(t)
		require.NoError(t, err)
		assert.Equal(t, WayRFS, s.Way)
		assert.Equal(t, []Missed{{WayARFS, "lo is a virtual interface: it has no filters"}}, s.Missed)
		assert.Equal(t, []string{"rfs-entries 0 to 32768: planned", "rps-flow-cnt 0 to 32768: planned"}, n.preview(t, s))
		n.assertOff(t)
		told := 0
		n.seen.SameCPU = 99
		require.NoError(t, s.Run(t.Context(), time.Minute, func(after Seen) {
			told++
			assert.EqualValues(t, 99, after.SameCPU)
			assert.Equal(t, map[string]string{"entries": "32768\n", "flows": "32768\n", "rps": "0\n"}, n.setNow())
		}))
		assert.Equal(t, 1, told)
		n.assertOff(t)
		entries, _, err := n.tuner.Entries()
		require.NoError(t, err)
		require.Len(t, entries, 1)
		assert.Equal(t, "irq follow, current by rfs: before 60 % of the bytes are processed on their consumer's CPU, then 99 %", entries[0].Reason)
	})
}

func TestRFSThatIsOnIsLeft(t *testing.T) {
	n := newNetwork(t)
	n.setting(entriesFile, "4096")
	s, err := n.lookAt(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"rps-flow-cnt 0 to 4096: planned"}, n.preview(t, s))
	n.setting(loFlows, "512")
	s, err = n.lookAt(t)
	require.NoError(t, err)
	assert.Empty(t, s.Way)
	assert.Equal(t, "what rfs needs is set already, and 60 % of the bytes are processed on their consumer's CPU: nothing is set", s.Why)
}

func TestNothingIsSetWhereNothingIsToBeGained(t *testing.T) {
	n := newNetwork(t)
	for _, tt := range []struct {
		policy Policy
		seen   Seen
		why    string
	}{
		{PolicyCurrent, Seen{}, "nothing was received in 2s: nothing is set"},
		{PolicyCurrent, Seen{Locality: model.Locality{Bytes: 9}}, "it is not known on which CPU the packets are processed, as of UDP sockets without a connection: nothing is set"},
		{PolicyCurrent, seenNear(97, 100), "97 % of the bytes are processed on their consumer's CPU already: nothing is set"},
		{PolicyApart, seenNear(1, 99), "98 % of the bytes are processed on another CPU of their consumer's last-level cache already: nothing is set"},
	} {
		n.ask.Policy, n.seen = tt.policy, tt.seen
		s, err := n.lookAt(t)
		require.NoError(t, err)
		assert.Equal(t, tt.why, s.Why)
		assert.Empty(t, s.Way)
	}
}

// card makes eth0 with a receive queue and its interrupt.
func (n *network) card(t *testing.T) {
	t.Helper()
	n.link("eth0", 2, true)
	require.NoError(t, os.MkdirAll(filepath.Join(n.Dir, "sys/bus/virtio/drivers/virtio_net"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(n.Dir, "sys/class/net/eth0/device"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(n.Dir, "sys/bus/virtio/drivers/virtio_net"), filepath.Join(n.Dir, "sys/class/net/eth0/device/driver")))
	n.setting("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0")
	n.setting("/sys/class/net/eth0/queues/rx-0/rps_flow_cnt", "0")
	n.Line("30", "eth0-rx-0", "0-3")
	n.seen.NICs = []string{"eth0"}
	n.ask.Table = &irq.Table{Rows: []irq.Row{*queue(30, "eth0", 0, irq.QueueRx, 0)}}
}

// TestCardsThatDoNotExistHere: there was no NIC with filters to try this on.
func TestCardsThatDoNotExistHere(t *testing.T) {
	n := newNetwork(t)
	n.card(t)
	has := Filters{}
	var failed error
	n.ask.Ntuple = func(nic string) (Filters, error) {
		assert.Equal(t, "eth0", nic)
		return has, failed
	}
	ways := func() (Way, []Missed) {
		s, err := n.lookAt(t)
		require.NoError(t, err)
		return s.Way, s.Missed
	}
	none := "eth0 has no filters (ethtool -k: rx-ntuple-filter)"
	chosen, missed := ways()
	assert.Equal(t, WayRFS, chosen)
	assert.Equal(t, []Missed{{WayARFS, none}}, missed)

	has.Has = true
	chosen, missed = ways()
	assert.Equal(t, WayRFS, chosen)
	assert.Equal(t, []Missed{{WayARFS, "the filters of eth0 are off; ethtool -K eth0 ntuple on switches them on"}}, missed)

	has.On = true
	chosen, missed = ways()
	assert.Equal(t, WayARFS, chosen)
	assert.Empty(t, missed)
	way, err := PolicyCurrent.ParseWay("ntuple")
	require.NoError(t, err)
	assert.Equal(t, chosen, way)

	failed = syscall.EPERM
	chosen, missed = ways()
	assert.Equal(t, WayRFS, chosen)
	assert.Equal(t, "whether eth0 has filters cannot be read: operation not permitted", missed[0].Why)
}

func TestDedicatedTakesTheInterruptFirst(t *testing.T) {
	n := newNetwork(t)
	n.card(t)
	n.ask.Policy, n.ask.CPUs = PolicyDedicated, cpuset.Of(2)
	s, err := n.lookAt(t)
	require.NoError(t, err)
	assert.Equal(t, WayIRQ, s.Way)
	assert.Equal(t, []string{"irq-affinity 0-3 to 2: planned"}, n.preview(t, s))

	n.ask.Table.Rows[0].Control = irq.Managed
	s, err = n.lookAt(t)
	require.NoError(t, err)
	assert.Equal(t, WayRPS, s.Way)
	assert.Equal(t, []string{"rps-cpus  to 2: planned"}, n.preview(t, s))
	require.Len(t, s.Missed, 2)
	assert.Contains(t, s.Missed[1].Why, "irq 30 (eth0-rx-0): its driver manages it")
	n.ask.Via = WayIRQ
	_, err = n.lookAt(t)
	assert.ErrorIs(t, err, attr.ErrNotSupported)
	assert.ErrorContains(t, err, "there is no way to steer these packets; irq: irq 30 (eth0-rx-0): its driver manages it")
}

func TestLeastLoadedIsChosenAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.ask.Policy = PolicyLeastLoaded
		look := n.ask.Look
		n.ask.Look = func(ctx context.Context, d time.Duration) (Seen, error) {
			n.Write("proc/stat", "cpu 1 0 0 1\ncpu0 190 0 0 110\ncpu1 180 0 0 120\ncpu2 150 0 0 150\ncpu3 200 0 0 100\n")
			return look(ctx, d)
		}
		s, err := n.lookAt(t)
		require.NoError(t, err)
		assert.Equal(t, WayRPS, s.Way)
		assert.Equal(t, []Missed{{WayXDP, "no programs here"}, {WayIRQ, "lo is a virtual interface: it has no interrupts"}}, s.Missed)
		s.Look = look
		assert.Equal(t, []string{"rps-cpus  to 2: planned"}, n.preview(t, s))
		go func() {
			time.Sleep(3 * time.Second)
			synctest.Wait()
			assert.Equal(t, "00000004\n", n.setNow()["rps"])
			n.Write("proc/stat", "cpu 1 0 0 1\ncpu0 190 0 0 210\ncpu1 250 0 0 150\ncpu2 240 0 0 160\ncpu3 290 0 0 110\n")
			time.Sleep(3 * time.Second)
			synctest.Wait()
			assert.Equal(t, "00000001\n", n.setNow()["rps"])
		}()
		require.NoError(t, s.Run(t.Context(), 20*time.Second, func(Seen) {}))
		n.assertOff(t)
	})
}

func TestApartIsNextToTheConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.ask.Policy, n.ask.Topology = PolicyApart, topologytest.Synthetic(topologytest.Spec{Nodes: 2, CoresPerLLC: 2})
		n.seen.Consumers = cpuset.Of(2)
		s, err := n.lookAt(t)
		require.NoError(t, err)
		later := make(chan string, 1)
		go func() {
			time.Sleep(6 * time.Second)
			synctest.Wait()
			later <- n.setNow()["rps"]
		}()
		require.NoError(t, s.Run(t.Context(), 20*time.Second, func(Seen) {
			assert.Equal(t, "00000008\n", n.setNow()["rps"])
			n.Tasks[10].UserTicks, n.Tasks[10].LastCPU = 50, 0
		}))
		assert.Equal(t, "00000002\n", <-later)
		n.assertOff(t)
	})
}

func TestSteeringEndsWithAReason(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy Policy
		happen func(n *network)
		want   string
	}{
		{"interface down", PolicyCurrent, func(n *network) { n.link("lo", 1, false) }, "interface lo went down"},
		{"interface removed", PolicyCurrent, func(n *network) { _ = os.Remove(filepath.Join(n.Dir, "sys/class/net/lo/ifindex")) }, "interface lo was removed"},
		{"interface replaced", PolicyCurrent, func(n *network) { n.link("lo", 7, true) }, "interface lo was replaced by another one with its name"},
		{"process ended", PolicyCurrent, func(n *network) { n.Kill(10) }, ""},
		{"number reused", PolicyCurrent, func(n *network) { n.Replace(10, 10, "other") }, ""},
		{"CPU offline", PolicyDedicated, func(n *network) { n.Machine.Write("sys/devices/system/cpu/online", "0-2\n") }, "CPU 3 went offline"},
		{"set by others", PolicyDedicated, func(n *network) { n.Settings.Put(loRPS, "00000001\n") }, "changed by someone else meanwhile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.ask.Policy, n.ask.CPUs = tt.policy, cpuset.Of(3)
				s, err := n.lookAt(t)
				require.NoError(t, err)
				err = s.Run(t.Context(), time.Hour, func(Seen) { tt.happen(n) })
				if tt.want == "" { // then it is over
					require.NoError(t, err)
					assert.True(t, s.Ended)
					n.assertOff(t)
					return
				}
				assert.ErrorContains(t, err, tt.want)
				if tt.name == "set by others" {
					assert.Equal(t, "00000001\n", n.setNow()["rps"], "it is left alone")
					return
				}
				assert.ErrorContains(t, err, "; everything is as it was before")
				if strings.HasPrefix(tt.name, "interface re") { // its queues are not written to: they are another's
					assert.Equal(t, "32768\n", n.setNow()["flows"])
					n.Settings.Put(loFlows, "0\n")
				}
				n.assertOff(t)
			})
		})
	}
}

func TestSteeringThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.Settings.Fail("WriteSetting", loFlows, syscall.EPERM)
		s, err := n.lookAt(t)
		require.NoError(t, err)
		err = s.Run(t.Context(), time.Hour, func(Seen) { t.Error("it was not set") })
		assert.ErrorContains(t, err, loFlows)
		n.assertOff(t)

		n.ask.Policy, n.ask.CPUs = PolicyDedicated, cpuset.Of(9)
		_, err = n.lookAt(t)
		assert.ErrorContains(t, err, "lo rx-0: CPU 9 is not online here")
	})
}

func TestSteeringEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		s, err := n.lookAt(t)
		require.NoError(t, err)
		ctx, end := context.WithCancel(t.Context())
		assert.NoError(t, s.Run(ctx, 0, func(Seen) { end() }))
		n.assertOff(t)
		failed := errors.New("no eBPF here")
		s.Look = func(context.Context, time.Duration) (Seen, error) { return Seen{}, failed }
		assert.ErrorIs(t, s.Run(t.Context(), 0, nil), failed)
		n.assertOff(t)
	})
}

func TestTargetsOfAnotherNamespace(t *testing.T) {
	n := newNetwork(t)
	for pid, of := range map[string]string{"self": "net:[1]", "10": "net:[2]"} {
		require.NoError(t, os.MkdirAll(filepath.Join(n.Dir, "proc", pid, "ns"), 0o755))
		require.NoError(t, os.Symlink(of, filepath.Join(n.Dir, "proc", pid, "ns/net")))
	}
	_, err := n.lookAt(t)
	assert.ErrorIs(t, err, attr.ErrNotSupported)
	assert.ErrorContains(t, err, "job 10 is in another network namespace")
}

func TestRFSNeedsItsTable(t *testing.T) {
	n := newNetwork(t)
	require.NoError(t, os.Remove(filepath.Join(n.Dir, entriesFile)))
	_, err := n.lookAt(t)
	assert.ErrorContains(t, err, "exists only in the initial network namespace")
}

func TestTryIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		s, err := n.lookAt(t)
		require.NoError(t, err)
		_, err = s.Try(t.Context(), time.Second, "bytes", nil)
		assert.ErrorContains(t, err, "at least 12s")
		// The figure grows by 1000 a second, and by half more while packets are steered.
		sum, last := 0.0, time.Now()
		report, err := s.Try(t.Context(), time.Minute, "bytes", func() (float64, error) {
			rate := 1000.0
			if n.setNow()["flows"] != "0\n" {
				rate = 1500
			}
			sum += rate * time.Since(last).Seconds()
			last = time.Now()
			return sum, nil
		})
		require.NoError(t, err)
		require.Len(t, report.Comparisons, 1)
		assert.Equal(t, 12, report.Comparisons[0].Base.Runs)
		assert.Contains(t, report.Comparisons[0].Verdict, "50 % more bytes")
		n.assertOff(t)
	})
}
