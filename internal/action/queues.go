package action

import (
	"fmt"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
)

// QueueSettings are what to set of network interfaces' queues; nil leaves as is.
type QueueSettings struct {
	RPS     *cpuset.Set // of receive queues; empty is off
	XPS     *cpuset.Set // of sending queues; empty is off
	Flows   *int        // rps_flow_cnt of each receive queue
	Entries *int        // rps_sock_flow_entries, which all interfaces share
	Only    cpuset.Set  // the numbers of the queues that are meant; empty means all
}

// SetQueues asks for the settings of the interfaces' queues. It is nil when there
// is no such queue.
func SetQueues(nics []irq.NIC, s QueueSettings) []change.Request {
	var files []attr.FileSetting
	add := func(a attr.Attribute, path, name string, value attr.Value) {
		files = append(files, attr.SetFile(a, path, name, value))
	}
	meant := func(index int) bool { return s.Only.Empty() || s.Only.Has(cpuset.CPU(index)) }
	if s.Entries != nil { // first: RFS does nothing without
		add(attr.RFSEntries, irq.FlowEntriesFile, "net.core.rps_sock_flow_entries", attr.Count(*s.Entries))
	}
	for _, nic := range nics {
		for _, q := range nic.Rx {
			name := fmt.Sprintf("%s rx-%d", nic.Name, q.Index)
			if s.RPS != nil && meant(q.Index) {
				add(attr.RPSCPUs, irq.RPSFile(nic.Name, q.Index), name, *s.RPS)
			}
			if s.Flows != nil && meant(q.Index) {
				add(attr.RPSFlows, irq.FlowsFile(nic.Name, q.Index), name, attr.Count(*s.Flows))
			}
		}
		for _, q := range nic.Tx {
			if s.XPS != nil && meant(q.Index) {
				add(attr.XPSCPUs, irq.XPSFile(nic.Name, q.Index), fmt.Sprintf("%s tx-%d", nic.Name, q.Index), *s.XPS)
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	return []change.Request{{Files: files}}
}
