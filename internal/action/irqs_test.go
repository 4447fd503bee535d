package action

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/topology/topologytest"
)

// queue is a line of a NIC on a node.
func queue(number int, nic string, node int, flow irq.Flow, index int) *irq.Row {
	return &irq.Row{IRQ: irq.IRQ{Number: number, Facts: irq.Facts{
		Node: node, Control: irq.Settable, Device: irq.Device{Address: nic, Names: []string{nic}}, Queue: irq.Queue{Flow: flow, Index: index},
		Actions: []string{fmt.Sprintf("%s-%s-%d", nic, flow, index)},
	}}}
}

// sent is where each line was sent.
func sent(requests []change.Request) map[string]string {
	out := map[string]string{}
	for _, r := range requests {
		out[r.Files[0].Path] = attr.Text(r.Files[0].Value)
	}
	return out
}

func TestSpreadPutsQueuesOnDifferentCores(t *testing.T) {
	topo := topologytest.Synthetic(topologytest.Spec{Nodes: 2, CoresPerLLC: 4, Threads: 2}) // cores 0-3 and their siblings 8-11 on node 0
	var lines []*irq.Row
	for i := range 8 {
		lines = append(lines, queue(30+i, "eth1", 1, irq.QueueRxTx, i))
	}
	byCore, onNode := map[int]int{}, 0
	for i, r := range SpreadIRQs(lines, topo, topo.Online) {
		set := attr.CPUs(r.Files[0].Value)
		assert.Equal(t, 1, set.Len())
		cpu, ok := topo.CPU(set.First())
		assert.True(t, ok)
		byCore[cpu.CoreIndex]++
		if cpu.Node == 1 {
			onNode++
			assert.Less(t, i, 4, "the NIC's node is filled first")
		}
	}
	assert.Len(t, byCore, 8, "eight queues, eight cores")
	assert.Equal(t, 4, onNode)

	again := SpreadIRQs(lines, topo, topo.Nodes[1].CPUs)
	for _, r := range again {
		assert.True(t, attr.CPUs(r.Files[0].Value).SubsetOf(topo.Nodes[1].CPUs))
	}
	assert.Len(t, onCPUs(again), 8, "four cores, both siblings of each")
}

func onCPUs(requests []change.Request) map[string]int {
	out := map[string]int{}
	for _, r := range requests {
		out[attr.Text(r.Files[0].Value)]++
	}
	return out
}

func TestSpreadPairsWaysEvenly(t *testing.T) {
	topo := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 4})
	var lines []*irq.Row
	for i := range 4 {
		lines = append(lines, queue(24+2*i, "virtio0", -1, irq.QueueRx, i), queue(25+2*i, "virtio0", -1, irq.QueueTx, i))
	}
	config := queue(40, "virtio0", -1, irq.NoQueue, 0)
	others := []*irq.Row{queue(41, "", -1, irq.NoQueue, 0), queue(42, "", -1, irq.NoQueue, 0), queue(43, "", -1, irq.NoQueue, 0)}
	requests := SpreadIRQs(append(append([]*irq.Row{config}, lines...), others...), topo, topo.Online)
	at := sent(requests)
	for i := range 4 {
		assert.Equal(t, at[irq.AffinityFile(24+2*i)], at[irq.AffinityFile(25+2*i)], "both ways of queue %d", i)
	}
	cpus := map[string]int{}
	for _, line := range append(others, config) {
		cpus[at[irq.AffinityFile(line.Number)]]++
	}
	assert.Len(t, cpus, 4, "the others are spread evenly")
	assert.Equal(t, requests, SpreadIRQs(append(append([]*irq.Row{config}, lines...), others...), topo, topo.Online), "the same each time")
}

func TestSpreadKeepsWithinTheCPUs(t *testing.T) {
	topo := topologytest.Sized(64)
	for _, text := range []string{"3", "7,9", "0-63", "40-47"} {
		cpus, err := cpuset.Parse(text)
		assert.NoError(t, err)
		var lines []*irq.Row
		for i := range 100 {
			lines = append(lines, queue(100+i, "eth0", 0, irq.QueueRxTx, i))
		}
		count := onCPUs(SpreadIRQs(lines, topo, cpus))
		low, high := 100, 0
		for value, n := range count {
			set, _ := cpuset.Parse(value)
			assert.True(t, set.SubsetOf(cpus), "%s within %s", value, text)
			low, high = min(low, n), max(high, n)
		}
		assert.Len(t, count, min(cpus.Len(), 100))
		assert.LessOrEqual(t, high-low, 1, "spread evenly over %s", text)
	}
}

func TestThreadsMoveWithTheirLine(t *testing.T) {
	line := queue(24, "eth0", 0, irq.QueueRx, 0)
	line.Threads = []irq.Thread{{TID: 77, Comm: "irq/24-eth0"}}
	line.Requested = irq.Mask{Set: cpuset.Of(0, 1), OK: true}
	r := MoveIRQs([]*irq.Row{line}, cpuset.Of(2))[0]
	assert.Equal(t, []change.Target{{TID: 77, Scope: change.ScopeThread}}, r.Targets)
	line.Threads[0].Bound = true
	assert.Empty(t, MoveIRQs([]*irq.Row{line}, cpuset.Of(2))[0].Targets, "the kernel moves it")
	line.Threads[0].Bound = false
	assert.Equal(t, []attr.Setting{attr.SetAffinity(cpuset.Of(2))}, r.Set)
	assert.Equal(t, []attr.FileSetting{attr.SetFile(attr.IRQAffinity, "/proc/irq/24/smp_affinity_list", "irq 24 (eth0-rx-0)", cpuset.Of(2))}, r.Files)
	assert.Empty(t, MoveIRQs([]*irq.Row{line}, cpuset.Of(0, 1))[0].Targets, "it is there already")
	line.Control = irq.Managed
	assert.Empty(t, MoveIRQs([]*irq.Row{line}, cpuset.Of(2))[0].Targets, "it will be refused")
	assert.Len(t, SpreadIRQs([]*irq.Row{line}, topologytest.Sized(8), cpuset.Of(1)), 1, "and is listed all the same")
}

func TestSetQueues(t *testing.T) {
	nic := irq.NIC{Name: "eth0", Rx: []irq.RxQueue{{Index: 0}, {Index: 1}}, Tx: []irq.TxQueue{{Index: 0}, {Index: 1}}}
	some, off, flows, entries := cpuset.Of(0, 1), cpuset.Set{}, 4096, 32768
	files := SetQueues([]irq.NIC{nic}, QueueSettings{RPS: &some, XPS: &off, Flows: &flows, Entries: &entries, Only: cpuset.Of(1)})[0].Files
	assert.Equal(t, []attr.FileSetting{
		attr.SetFile(attr.RFSEntries, "/proc/sys/net/core/rps_sock_flow_entries", "net.core.rps_sock_flow_entries", attr.Count(32768)),
		attr.SetFile(attr.RPSCPUs, "/sys/class/net/eth0/queues/rx-1/rps_cpus", "eth0 rx-1", some),
		attr.SetFile(attr.RPSFlows, "/sys/class/net/eth0/queues/rx-1/rps_flow_cnt", "eth0 rx-1", attr.Count(4096)),
		attr.SetFile(attr.XPSCPUs, "/sys/class/net/eth0/queues/tx-1/xps_cpus", "eth0 tx-1", off),
	}, files)
	assert.Len(t, SetQueues([]irq.NIC{nic}, QueueSettings{RPS: &some})[0].Files, 2)
	assert.Empty(t, SetQueues([]irq.NIC{nic}, QueueSettings{RPS: &some, Only: cpuset.Of(7)}))
	assert.Equal(t, attr.DefaultIRQAffinity, DefaultIRQCPUs(some).Files[0].Attribute)
}
