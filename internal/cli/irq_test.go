package cli

import (
	"encoding/csv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/irq"
	"piton/internal/kernel/kernelfake"
)

// irqHost is a host tree with a NIC's queue, a disk's managed queue, a timer and
// a kernel thread that handles one of them.
func irqHost(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, kernelfake.WriteFiles(root, map[string]string{
		"proc/interrupts": "  CPU0 CPU1\n 0: 9 0 IO-APIC 2-edge timer\n24: 7 20 PCI-MSIX-0000:09:00.0 1-edge eth0-TxRx-3\n" +
			"30: 5 6 PCI-MSIX-0000:19:00.0 1-edge nvme0q1\nRES: 4 5 Rescheduling interrupts\nMCE: 0 0 Machine check exceptions\n",
		"proc/softirqs":                                 "  CPU0 CPU1\nNET_RX: 1 2\n",
		"proc/sys/kernel/osrelease":                     "6.12.57\n",
		"proc/sys/net/core/rps_sock_flow_entries":       "32768\n",
		"proc/irq/default_smp_affinity":                 "3\n",
		"proc/irq/0/smp_affinity_list":                  "0-1\n",
		"proc/irq/24/smp_affinity_list":                 "0-1\n",
		"proc/irq/24/effective_affinity_list":           "1\n",
		"proc/irq/30/smp_affinity_list":                 "0\n",
		"sys/class/net/eth0/device/vendor":              "0x8086\n",
		"sys/class/net/eth0/queues/rx-3/rps_cpus":       "3\n",
		"sys/class/net/eth0/queues/rx-3/rps_flow_cnt":   "4096\n",
		"sys/class/net/eth0/queues/tx-3/xps_cpus":       "2\n",
		"sys/devices/system/cpu/online":                 "0-1\n",
		"sys/bus/pci/devices/0000:19:00.0/msi_irqs/30":  "msix\n",
		"sys/bus/pci/devices/0000:19:00.0/nvme/nvme0/x": "",
		"proc/77/comm":                                  "irq/24-eth0\n",
		"proc/77/stat":                                  "77 (irq/24-eth0) S 2 0 0 0 -1 2097216 0 0 0 0 0 0 0 0 -51 0 1 0 5 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 0 50 1 0 0 0\n",
		"proc/77/status":                                "Name:\tirq/24-eth0\nTgid:\t77\nUid:\t0\t0\t0\t0\nThreads:\t1\nCpus_allowed_list:\t1\n",
	}))
	for _, n := range []string{"0", "30"} {
		require.NoError(t, os.Chmod(filepath.Join(root, "proc/irq", n, "smp_affinity_list"), 0o444))
	}
	return root
}

// csvRows are the rows of a table in CSV, by heading.
func csvRows(t *testing.T, text string) (rows []map[string]string) {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.NotEmpty(t, records)
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestIRQList(t *testing.T) {
	root := irqHost(t)
	r := newHome(t).run("--host-root", root, "irq", "list", "-d", "100ms", "-o", "json")
	require.Zero(t, r.code, r.err)
	lines := jsonLines(t, r.out)
	irqs := ofType(lines, "irq")
	require.Len(t, irqs, 5)
	nic := irqs[1]
	for name, want := range map[string]any{
		"irq": 24.0, "name": "eth0-TxRx-3", "count": 27.0, "per_s": 0.0, "top_cpu": nil, "affinity": "0-1", "effective": "1", "hint": nil,
		"control": "settable", "movable": true, "managed": false, "device": "eth0", "queue": "rxtx", "queue_index": 3.0,
		"unhandled": nil, "threads": []any{77.0}, "chip": "PCI-MSIX-0000:09:00.0", "trigger": "edge", "node": nil,
	} {
		got, ok := nic[name]
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	assert.Equal(t, "fixed", irqs[0]["control"])
	assert.Equal(t, "managed", irqs[2]["control"])
	assert.Equal(t, false, irqs[2]["movable"])
	assert.Equal(t, true, irqs[2]["managed"])
	assert.Nil(t, irqs[3]["irq"])
	assert.Equal(t, "RES", irqs[3]["name"])
	softirq := ofType(lines, "softirq")[0]
	assert.Equal(t, "NET_RX", softirq["name"])
	assert.ElementsMatch(t, strings.Fields("type v name per_s top_cpu top_per_s count by_cpu"), slices.Collect(maps.Keys(softirq)))
	end := ofType(lines, "end")[0]
	assert.Equal(t, 3.0, end["irqs"])
	assert.Equal(t, "0-1", end["default_affinity"])

	r = newHome(t).run("--host-root", root, "irq", "list", "-d", "100ms", "--filter", "nvme managed")
	assert.Contains(t, r.out, "nvme0q1")
	assert.NotContains(t, r.out, "eth0")
	assert.NotContains(t, r.out, "RES")
	r = newHome(t).run("--host-root", root, "irq", "list", "-d", "100ms", "-o", "csv")
	assert.True(t, strings.HasPrefix(r.out, "irq,per_s,top_cpu,"), r.out)
	assert.NotContains(t, r.out, "MCE", "it never happened")
	kinds := map[string]string{}
	for _, row := range csvRows(t, r.out) {
		kinds[row["name"]] = row["type"]
	}
	assert.Equal(t, map[string]string{"timer": "irq", "eth0-TxRx-3": "irq", "nvme0q1": "irq", "RES": "irq", "NET_RX": "softirq"}, kinds)
}

func TestIRQListNow(t *testing.T) {
	root := irqHost(t)
	h := newHome(t)
	r := h.run("--host-root", root, "irq", "list", "--now", "-o", "json")
	require.Zero(t, r.code, r.err)
	lines := jsonLines(t, r.out)
	nic := ofType(lines, "irq")[1]
	assert.Equal(t, []any{27.0, "0-1"}, []any{nic["count"], nic["affinity"]})
	for _, rate := range []string{"per_s", "top_cpu", "top_per_s", "by_cpu"} {
		value, ok := nic[rate]
		assert.True(t, ok && value == nil, rate)
	}
	assert.Equal(t, 0.0, ofType(lines, "end")[0]["interval_s"])
	r = h.run("--host-root", root, "irq", "list", "--now", "--filter", "eth0")
	assert.Regexp(t, `\n +24 +- +- +- +0-1 +1 +settable `, r.out)

	r = h.run("irq", "list", "--now")
	require.Zero(t, r.code, r.err)
}

func TestIRQQueues(t *testing.T) {
	root := irqHost(t)
	r := newHome(t).run("--host-root", root, "irq", "queues", "-o", "json")
	require.Zero(t, r.code, r.err)
	lines := jsonLines(t, r.out)
	queues := ofType(lines, "queue")
	require.Len(t, queues, 2)
	assert.Equal(t, map[string]any{"type": "queue", "v": 1.0, "interface": "eth0", "driver": nil, "node": nil, "flow": "rx", "index": 3.0, "irq": 24.0,
		"affinity": "0-1", "effective": "1", "rps_cpus": "0-1", "rps_flow_cnt": 4096.0, "xps_cpus": nil}, queues[0])
	assert.Equal(t, "1", queues[1]["xps_cpus"])
	assert.Nil(t, queues[1]["rps_cpus"])
	assert.Equal(t, 32768.0, ofType(lines, "end")[0]["rps_sock_flow_entries"])
	r = newHome(t).run("--host-root", root, "irq", "queues")
	assert.Contains(t, r.out, "rx 3")
	assert.Contains(t, r.out, "RFS steers")

	for _, mask := range []string{"rx-3/rps_cpus", "tx-3/xps_cpus"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "sys/class/net/eth0/queues", mask), []byte("0\n"), 0o644))
	}
	rows := csvRows(t, newHome(t).run("--host-root", root, "irq", "queues", "-o", "csv").out)
	require.Len(t, rows, 2)
	assert.Equal(t, []string{"off", "", "", "off"}, []string{rows[0]["rps_cpus"], rows[0]["xps_cpus"], rows[1]["rps_cpus"], rows[1]["xps_cpus"]},
		"no CPU differs from not known")
}

func TestIRQHelpAndMistakes(t *testing.T) {
	r := newHome(t).run("irq", "--help")
	assert.Zero(t, r.code)
	assert.Contains(t, r.out, "piton irq [command]")
	assert.Contains(t, r.out, "piton schema irq")
	for _, tt := range []struct{ args, want string }{
		{"irq lst", "there are irq default, follow, hint, list, move"},
		{"irq list extra", "takes no"},
		{"irq list -d 10ms", "100ms to 1m"},
		{"irq list --now -d 1s", "not both"},
		{"irq list -o xml", "table, json, csv"},
		{"what-is", "needs a target"},
		{"what-is irq:x", "number of an interrupt line"},
		{"what-is irq:024", "number of an interrupt line"},
		{"what-is /[/", "missing closing"},
		{"what-is 1 -o csv", "table, json"},
	} {
		r := newHome(t).run(strings.Fields(tt.args)...)
		assert.Equal(t, exit.Usage, r.code, "piton %s: %s", tt.args, r.err)
		assert.Contains(t, r.err, tt.want, "piton %s", tt.args)
		assert.Empty(t, r.out, "piton %s", tt.args)
	}
	empty := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(empty, "proc"), 0o755))
	r = newHome(t).run("--host-root", empty, "irq", "list")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "proc/interrupts")
}

// TestIRQListHere compares with this machine's own files.
func TestIRQListHere(t *testing.T) {
	r := newHome(t).run("irq", "list", "-d", "100ms", "-o", "json")
	require.Zero(t, r.code, r.err)
	for _, l := range ofType(jsonLines(t, r.out), "irq") {
		number, ok := l["irq"].(float64)
		if !ok || l["affinity"] == nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc/irq", strconv.Itoa(int(number)), "smp_affinity_list"))
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSpace(string(b)), l["affinity"])
		assert.NotNil(t, l["per_s"], "irq %v", number)
	}
}

func TestIRQVerbsNeedThisMachine(t *testing.T) {
	root := irqHost(t)
	for _, args := range []string{"irq move 24 --cpu 1", "irq spread", "irq reset", "irq default 0", "irq queues eth0 --rps 0"} {
		r := newHome(t).run(append([]string{"--host-root", root}, strings.Fields(args)...)...)
		assert.Equal(t, exit.NotPermitted, r.code, "piton %s: %s", args, r.err)
		assert.Contains(t, r.err, "this machine only", args)
	}
	r := newHome(t).run("--host-root", root, "irq", "queues", "eth0")
	assert.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "rx 3")
	r = newHome(t).run("--host-root", root, "irq", "queues", "eth9")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, `no network interface "eth9"`)
}

// TestIRQDryRun plans on the machine that the tests run on, and changes nothing.
func TestIRQDryRun(t *testing.T) {
	table, err := irq.NewMonitor("/").Table()
	require.NoError(t, err)
	var line *irq.Row
	for i := range table.Rows {
		if r := &table.Rows[i]; r.Control == irq.Settable && r.Requested.OK && r.Requested.Len() > 1 {
			line = r
		}
	}
	if line == nil {
		t.Skip("no interrupt line here may go to several CPUs")
	}
	cpu := strconv.Itoa(int(line.Requested.First()))
	for _, args := range [][]string{{"move", strconv.Itoa(line.Number), "--cpu", cpu}, {"spread", "--cpu", cpu}} {
		r := newHome(t).run(append(append([]string{"irq"}, args...), "-o", "json", "--dry-run")...)
		require.Zero(t, r.code, r.err)
		found := false
		for _, c := range ofType(jsonLines(t, r.out), "change") {
			if c["path"] == irq.AffinityFile(line.Number) {
				found = true
				assert.Equal(t, line.Title(), c["object"])
				assert.Equal(t, "planned", c["status"])
				assert.Equal(t, line.Requested.String(), c["before"])
				assert.Equal(t, cpu, c["after"])
				assert.Nil(t, c["pid"])
			}
		}
		assert.True(t, found, r.out)
	}
	assert.Equal(t, line.Requested.String(), irq.New("/").Requested(line.Number).String())
	for _, others := range [][]string{{}, {strconv.Itoa(line.Number)}} {
		r := newHome(t).run(append(append([]string{"irq", "move", "no-such-line"}, others...), "--cpu", cpu, "--dry-run")...)
		assert.Equal(t, exit.Failed, r.code)
		assert.Contains(t, r.err, `no interrupt line matches "no-such-line"`)
		assert.Empty(t, r.out, "and nothing is planned")
	}
}
