package simulate

import (
	"path/filepath"

	"piton/internal/kernel/kernelfake"
)

const limitedGroup = "/limited" // a cgroup with a cpuset

// version1 is below the root of Files: the root of a machine whose control groups of the cpu are of version 1.
const version1 = "version-1"

// Files makes the files below root that piton reads by their path.
func Files(root string) error {
	const unified = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for dir, mounts := range map[string]string{"": unified, version1: "31 1 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" + unified} {
		if err := kernelfake.WriteFiles(filepath.Join(root, dir), map[string]string{
			"sys/devices/system/cpu/online":                    "0-7\n",
			"sys/devices/system/cpu/possible":                  "0-7\n",
			"sys/fs/cgroup/cpuset.cpus.effective":              "0-7\n",
			"sys/fs/cgroup/limited/cpuset.cpus.effective":      "0-3\n",
			"sys/fs/cgroup/system.slice/cpuset.cpus.effective": "0-7\n",
			"sys/kernel/irq/24/actions":                        "eth0\n",
			"sys/kernel/irq/25/actions":                        "eth1\n",
			"proc/self/mountinfo":                              mounts,
			"proc/sys/kernel/osrelease":                        "6.12.0\n",
			"proc/irq/24/smp_affinity_list":                    "",
			"proc/irq/25/smp_affinity_list":                    "",
		}); err != nil {
			return err
		}
	}
	return nil
}
