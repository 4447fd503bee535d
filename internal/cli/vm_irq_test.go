package cli

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

// masks are the files that say where interrupts and packets go, with what they
// hold to the byte, and the CPUs of each handler's thread.
func masks(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{
		"/proc/irq/*/smp_affinity", "/proc/irq/default_smp_affinity", "/proc/sys/net/core/rps_sock_flow_entries",
		"/sys/class/net/*/queues/*/rps_cpus", "/sys/class/net/*/queues/*/rps_flow_cnt", "/sys/class/net/*/queues/*/xps_cpus",
	} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil { // lo has queues without some of the settings
				all[file] = string(text)
			}
		}
	}
	require.Greater(t, len(all), 10)
	return all
}

// interruptMasks are those of masks that are not the network's: what others on this machine
// try with RFS and RPS, with piton or by hand, is there for a while and is not the test's.
func interruptMasks(t *testing.T) map[string]string {
	t.Helper()
	all := masks(t)
	maps.DeleteFunc(all, func(file, _ string) bool { return !strings.HasPrefix(file, "/proc/irq/") })
	return all
}

// differences are the files that are not as they were.
func differences(before, after map[string]string) []string {
	var out []string
	for _, file := range slices.Sorted(maps.Keys(before)) {
		if after[file] != before[file] {
			out = append(out, fmt.Sprintf("%s: %q, not %q", file, after[file], before[file]))
		}
	}
	return out
}

// needNIC skips without an interface of several queues, as make guests adds.
func needNIC(t *testing.T) (vmShape, irq.NIC) {
	s := needVM(t)
	for _, n := range irq.New("/").NICs() {
		if len(n.Rx) > 1 {
			return s, n
		}
	}
	t.Skip("this machine has no network interface of several queues")
	return s, irq.NIC{}
}

func irqTableOf(t *testing.T) irq.Table {
	t.Helper()
	table, err := irq.NewMonitor("/").Table()
	require.NoError(t, err)
	return table
}

// TestVMSpreadIRQs deals the queues of an interface out to cores, and gives every
// mask back.
func TestVMSpreadIRQs(t *testing.T) {
	s, nic := needNIC(t)
	h, before := newHome(t), masks(t)
	r := h.run("irq", "spread", "--nic", nic.Name, "-o", "json")
	require.Zero(t, r.code, r.err)
	table := irqTableOf(t)
	cores := map[int]bool{}
	for _, q := range nic.Rx {
		line := table.QueueIRQ(nic.Name, true, q.Index)
		require.NotNil(t, line)
		require.Equal(t, 1, line.Requested.Len(), "%s", line.Title())
		cores[int(line.Requested.First())/s.threads] = true
		other := table.QueueIRQ(nic.Name, false, q.Index)
		require.NotNil(t, other)
		assert.Equal(t, line.Requested.String(), other.Requested.String(), "both ways of queue %d", q.Index)
	}
	assert.Len(t, cores, min(len(nic.Rx), s.cpus/s.threads), "each queue has a core of its own")
	assert.NotEmpty(t, differences(before, masks(t)))

	last := strconv.Itoa(s.cpus - 1)
	r = h.run("irq", "move", nic.Name, "--cpu", last)
	require.Zero(t, r.code, r.err)
	for i := range table.Rows {
		if row := &table.Rows[i]; row.IsOf(nic.Name) {
			assert.Equal(t, last, irq.New("/").Requested(row.Number).String())
		}
	}
	r = h.run("undo", "--all")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, differences(before, masks(t)))
}

// TestVMQueueSettings sets everything about an interface's queues, and gives it
// back.
func TestVMQueueSettings(t *testing.T) {
	s, nic := needNIC(t)
	h, before := newHome(t), masks(t)
	cpus := block(0, s.perNode()).String()
	r := h.run("irq", "queues", nic.Name, "--rps", cpus, "--rps-flows", "1000", "--rfs-entries", "5000", "-o", "json")
	require.Zero(t, r.code, r.err)
	reasons := map[string]any{}
	for _, c := range ofType(jsonLines(t, r.out), "change") {
		assert.Equal(t, "done", c["status"], c)
		reasons[c["attribute"].(string)+" "+c["after"].(string)] = c["reason"]
	}
	assert.Equal(t, map[string]any{
		"rfs-entries 8192": "the kernel rounded 5000 up to a power of two", "rps-cpus " + cpus: "",
		"rps-flow-cnt 1024": "the kernel rounded 1000 up to a power of two",
	}, reasons)
	r = h.run("irq", "queues", nic.Name, "--queue", "1", "--xps", "off")
	require.Zero(t, r.code, r.err)
	r = h.run("irq", "queues", nic.Name, "--queue", "0", "--rps", "off")
	require.Zero(t, r.code, r.err)
	now := irq.New("/").NICs()
	i := slices.IndexFunc(now, func(n irq.NIC) bool { return n.Name == nic.Name })
	assert.True(t, now[i].Tx[1].XPS.Empty())
	assert.True(t, now[i].Rx[0].RPS.Empty())
	assert.Equal(t, cpus, now[i].Rx[1].RPS.String())
	r = h.run("irq", "default", "0")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, "0", irq.New("/").Default().String())

	r = h.run("undo", "--since", "1h")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, differences(before, masks(t)))
}

// TestVMIRQRefusals asks for what the kernel refuses: a managed line, a CPU that
// is offline, CPUs that the machine cannot have.
func TestVMIRQRefusals(t *testing.T) {
	s, nic := needNIC(t)
	h, before := newHome(t), masks(t)
	r := h.run("irq", "move", "nvme0q1", "--cpu", "0")
	assert.Equal(t, exit.NotPermitted, r.code, r.err)
	assert.Contains(t, r.err, "its driver manages it")
	r = h.run("irq", "move", "nvme0q1", nic.Name, "--cpu", "1", "-o", "json")
	assert.Equal(t, exit.Some, r.code, "the rest is done: %s", r.err)
	r = h.run("undo")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, differences(before, masks(t)))

	table := irqTableOf(t)
	line := strconv.Itoa(table.QueueIRQ(nic.Name, true, 0).Number)
	r = h.run("irq", "move", line, "--cpu", "0,5000")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "this machine has no CPU 5000")
	last := strconv.Itoa(s.cpus - 1)
	online := "/sys/devices/system/cpu/cpu" + last + "/online"
	write(t, online, "0")
	defer write(t, online, "1")
	before = masks(t) // the kernel has moved what was there
	r = h.run("irq", "move", line, "--cpu", last)
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "CPU "+last+" is not online here")
	// What the kernel itself says, had it not been known before.
	err := kernel.SystemFiles().WriteSetting("/proc/irq/"+line+"/smp_affinity_list", last+"\n")
	t.Logf("an offline CPU: %v", err)
	assert.Error(t, err)
	assert.Empty(t, differences(before, masks(t)))
}

// TestVMKilledSpread kills piton at any moment while it moves interrupts: the
// journal knows all that has to be undone.
func TestVMKilledSpread(t *testing.T) {
	s, nic := needNIC(t)
	if s.cpus > 16 {
		t.Skip("many starts of piton take long on a large emulated machine")
	}
	h, before := newHome(t), masks(t)
	began := time.Now()
	whole := h.program("irq", "spread", "--nic", nic.Name)
	require.NoError(t, whole.Run())
	took := time.Since(began)
	require.Zero(t, h.run("undo").code)
	require.Empty(t, differences(before, masks(t)))
	const runs = 20
	interrupted := 0
	for i := range runs {
		cmd := h.program("irq", "spread", "--cpu", strconv.Itoa(i%s.cpus))
		require.NoError(t, cmd.Start())
		time.Sleep(rand.N(took + took/4))
		_ = cmd.Process.Kill()
		if cmd.Wait() != nil {
			interrupted++
		}
		if len(differences(before, masks(t))) == 0 {
			continue // it had not begun, or nothing was to be done
		}
		r := h.run("undo", "--all")
		require.Zero(t, r.code, r.err)
		require.Empty(t, differences(before, masks(t)), "after run %d", i)
	}
	t.Logf("%d of %d were killed before they were done; a whole run takes %v", interrupted, runs, took)
	assert.NotContains(t, h.run("journal").err, "damaged")
}

// TestVMThreadedIRQ moves a line whose handler is a thread, and the thread with it.
func TestVMThreadedIRQ(t *testing.T) {
	s := needVM(t)
	table := irqTableOf(t)
	i := slices.IndexFunc(table.Rows, func(r irq.Row) bool { return len(r.Threads) > 0 && r.Control != irq.Managed && r.Control != irq.Fixed })
	if i < 0 {
		t.Skip("no handler is a thread here; boot with threadirqs")
	}
	line := &table.Rows[i]
	h, before := newHome(t), masks(t)
	r := h.run("irq", "move", strconv.Itoa(line.Number), "--cpu", strconv.Itoa(s.cpus-1), "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, strconv.Itoa(s.cpus-1), irq.New("/").Requested(line.Number).String())
	for _, thread := range line.Threads {
		if thread.Bound {
			continue // the kernel moves it, with the next interrupt
		}
		set, err := sched.Affinity(thread.TID)
		require.NoError(t, err)
		assert.Equal(t, cpuset.Of(cpuset.CPU(s.cpus-1)).String(), set.String(), thread.Comm)
	}
	assert.NotContains(t, r.out, `"status":"unchanged"`)
	r = h.run("undo")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, differences(before, masks(t)))
}
