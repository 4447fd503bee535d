package profile

import (
	"io/fs"
	"maps"
	"path"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/partition"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
)

// made is a machine that tests put together.
type made struct {
	*State
	sysctls map[string]string
}

func set(list string) cpuset.Set {
	s, err := cpuset.Parse(list)
	if err != nil {
		panic(err)
	}
	return s
}

// machine has 8 CPUs on two nodes, systemd, kthreadd and what every kernel has.
func machine() *made {
	m := &made{sysctls: map[string]string{"kernel/numa_balancing": "1", "net/core/rps_sock_flow_entries": "0", "net/ipv4/conf/eth0.1/forwarding": "0",
		"net/ipv4/conf/eth1/forwarding": "0", "net/ipv4/tcp_mem": "1 2 3"}}
	m.State = &State{
		Topology: topologytest.Synthetic(topologytest.Spec{Nodes: 2, CoresPerLLC: 4}), DefaultIRQ: irq.Mask{Set: set("0-7"), OK: true}, Workqueue: irq.Mask{Set: set("0-7"), OK: true},
		Sysctl: func(file string) (string, error) {
			if value, ok := m.sysctls[file]; ok {
				return value, nil
			}
			return "", fs.ErrNotExist
		},
		Sysctls: func(glob string) []string {
			return slices.DeleteFunc(slices.Sorted(maps.Keys(m.sysctls)), func(f string) bool { ok, _ := path.Match(glob, f); return !ok })
		},
	}
	m.process(1, "systemd", "/sbin/init", "/init.scope")
	m.kthread(2, "kthreadd")
	m.kthread(3, "ksoftirqd/0").Flags |= sample.FlagNoSetAffinity
	m.kthread(4, "kworker/0:1")
	m.kthread(5, "kswapd0").Affinity = set("0-3")
	m.kthread(6, "khugepaged").Nice = 19
	return m
}

// masks are those that the machine has once.
func (m *made) masks() []partition.Mask {
	out := []partition.Mask{partition.DefaultIRQs, partition.Workqueues}
	out[0].CPUs, out[1].CPUs = m.DefaultIRQ.Set, m.Workqueue.Set
	return out
}

// process adds a process with one thread.
func (m *made) process(pid kernel.TID, comm, cmdline, cgroup string) *sample.Task {
	return m.thread(pid, pid, comm, cmdline, cgroup)
}

func (m *made) thread(pid, tid kernel.TID, comm, cmdline, cgroup string) *sample.Task {
	t := &sample.Task{
		TID: tid, TGID: pid, StartTicks: uint64(tid) * 10, State: 'S', Affinity: set("0-7"),
		Have: sample.HaveAffinity | sample.HaveAttr | sample.HaveIOPrio,
		ID:   &sample.Identity{Comm: comm, Cmdline: cmdline, Cgroup: cgroup, Full: true},
	}
	m.Tasks = append(m.Tasks, t)
	return t
}

func (m *made) kthread(pid kernel.TID, comm string) *sample.Task {
	t := m.process(pid, comm, "", "/")
	t.Flags = sample.FlagKernelThread
	return t
}

func (m *made) line(number int, action, device, mask string, control irq.Control) {
	m.IRQs = append(m.IRQs, irq.IRQ{Number: number, Requested: irq.Mask{Set: set(mask), OK: true}, Facts: irq.Facts{
		Actions: []string{action}, Control: control, Device: irq.Device{Names: []string{device}},
	}})
}

// tuned is a machine on which somebody has tuned a bit of everything.
func tuned() *made {
	m := machine()
	m.process(100, "nginx", "nginx: master process", "/system.slice/nginx.service")
	for i := range kernel.TID(3) {
		m.process(101+i, "nginx", "nginx: worker process", "/system.slice/nginx.service").Affinity = cpuset.Of(cpuset.CPU(i))
	}
	m.process(200, "java", "java -jar a.jar", "/system.slice/a.service").Nice = 5
	m.thread(200, 201, "GC Thread#0", "java -jar a.jar", "/system.slice/a.service").Nice = 5
	gc := m.thread(200, 202, "G1 *Conc", "java -jar a.jar", "/system.slice/a.service")
	gc.Nice, gc.Affinity = 10, set("6-7")
	m.process(300, "java", "java -jar b.jar", "/system.slice/b.service")
	rt := m.process(400, "jackd", "/usr/bin/jackd -R", "/user.slice/user-1000.slice/session-3.scope")
	rt.Policy, rt.RTPrio, rt.ResetOnFork = kernel.FIFO, 10, true
	rt.IOPrio = kernel.IOPrio{Class: kernel.IORealTime, Level: 2}
	m.process(500, "12", "12 --server", "/").Affinity = set("4-7")
	rcu := m.kthread(7, "rcu_preempt")
	rcu.Affinity, rcu.Policy, rcu.RTPrio = set("0-1"), kernel.FIFO, 2
	m.kthread(8, "irq/24-eth0").Affinity = set("2")
	m.line(24, "eth0", "eth0", "2", irq.Settable)
	m.line(25, "eth1", "eth1", "0-7", irq.Settable)
	m.line(26, "nvme0q1", "nvme0n1", "3", irq.Managed)
	m.NICs = []irq.NIC{{Name: "eth0", Rx: []irq.RxQueue{{Index: 0, RPS: irq.Mask{Set: set("0-3"), OK: true}, Flows: 4096}, {Index: 1, RPS: irq.Mask{OK: true}}},
		Tx: []irq.TxQueue{{Index: 0, XPS: irq.Mask{Set: set("0"), OK: true}}}}}
	m.Workqueue.Set = set("0-1")
	m.sysctls[rfsEntries] = "32768"
	return m
}

func (m *made) task(tid kernel.TID) *sample.Task {
	i := slices.IndexFunc(m.Tasks, func(t *sample.Task) bool { return t.TID == tid })
	return m.Tasks[i]
}
