package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"piton/internal/irq"
	"piton/internal/kernel/kernelfake"
)

// makeRoot makes the directory of what is read by its path: which CPUs are online, the
// cpusets of control groups, and what may be done with interrupt lines.
func (m *Machine) makeRoot() error {
	root, err := os.MkdirTemp("", "piton-demo-")
	if err != nil {
		return err
	}
	m.proc = kernelfake.Proc{Dir: root, Settings: m.files, Uptime: m.uptime, Read: m.read, List: m.fake.List}
	all := m.all().String() + "\n"
	files := map[string]string{
		"sys/devices/system/cpu/online":                        all,
		"sys/devices/system/cpu/possible":                      all,
		"sys/devices/system/cpu/isolated":                      "\n",
		"sys/fs/cgroup/cpuset.cpus.effective":                  all,
		"sys/fs/cgroup" + container + "/cpuset.cpus.effective": m.Topology.Nodes[0].CPUs.String() + "\n",
		"proc/self/mountinfo":                                  "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"proc/sys/kernel/osrelease":                            "6.18.5-demo\n",
	}
	for _, l := range m.lines {
		files[fmt.Sprintf("sys/kernel/irq/%d/actions", l.number)] = l.action + "\n"
		files[fmt.Sprintf("sys/kernel/irq/%d/chip_name", l.number)] = l.chip + "\n"
		files[fmt.Sprintf("proc/irq/%d/smp_affinity_list", l.number)] = all
	}
	if err := kernelfake.WriteFiles(root, files); err != nil {
		return err
	}
	for _, l := range m.lines { // the kernel says so by the mode since Linux 6.12
		if l.control != irq.Settable {
			if err := os.Chmod(filepath.Join(root, "proc/irq", strconv.Itoa(l.number), "smp_affinity_list"), 0o444); err != nil {
				return err
			}
		}
	}
	return nil
}
