package action

import (
	"fmt"
	"strconv"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/tune"
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
func SetQueues(nics []irq.NIC, s QueueSettings) []tune.Request {
	var files []tune.FileSetting
	add := func(a tune.Attribute, path, name, value string) {
		files = append(files, tune.FileSetting{Attribute: a, Path: path, Name: name, Value: value})
	}
	meant := func(index int) bool { return s.Only.Empty() || s.Only.Has(cpuset.CPU(index)) }
	if s.Entries != nil { // first: RFS does nothing without
		add(tune.RFSEntries, irq.FlowEntriesFile, "net.core.rps_sock_flow_entries", strconv.Itoa(*s.Entries))
	}
	for _, nic := range nics {
		for _, q := range nic.Rx {
			name := fmt.Sprintf("%s rx-%d", nic.Name, q.Index)
			if s.RPS != nil && meant(q.Index) {
				add(tune.RPSCPUs, irq.RPSFile(nic.Name, q.Index), name, s.RPS.String())
			}
			if s.Flows != nil && meant(q.Index) {
				add(tune.RPSFlows, irq.FlowsFile(nic.Name, q.Index), name, strconv.Itoa(*s.Flows))
			}
		}
		for _, q := range nic.Tx {
			if s.XPS != nil && meant(q.Index) {
				add(tune.XPSCPUs, irq.XPSFile(nic.Name, q.Index), fmt.Sprintf("%s tx-%d", nic.Name, q.Index), s.XPS.String())
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	return []tune.Request{{Files: files}}
}
