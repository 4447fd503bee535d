package procfs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseCgroupMount(t *testing.T) {
	const (
		v1     = "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 master:2 - cgroup cgroup rw,cpuset\n"
		joined = "34 31 0:31 /docker/ab /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
		v2     = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
	)
	tests := []struct {
		line, controller string
		want             string // the file of group /docker/ab/web, "" if the line is not it
	}{
		{v1, "cpuset", "/sys/fs/cgroup/cpuset/docker/ab/web/f"},
		{v1, "cpu", ""},
		{joined, "cpu", "/sys/fs/cgroup/cpu,cpuacct/web/f"}, // the mount hides a container's own part
		{joined, "cpuacct", "/sys/fs/cgroup/cpu,cpuacct/web/f"},
		{v2, "cpuset", "/sys/fs/cgroup/unified/docker/ab/web/f"},
		{"", "cpu", ""},
		{"34 31 0:31 / /x rw cgroup cgroup rw,cpu", "cpu", ""},
		{"34 31 - cgroup cgroup rw,cpu", "cpu", ""},
		{"34 31 0:31 / /x rw - cgroup", "cpu", ""},
	}
	for _, tt := range tests {
		g, ok := parseCgroupMount(tt.line, tt.controller)
		assert.Equal(t, tt.want != "", ok, tt.line)
		if ok {
			assert.Equal(t, tt.want, g.File("/docker/ab/web", "f"))
		}
	}
}

func FuzzParseCgroupMount(f *testing.F) {
	f.Add("41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw")
	f.Add("34 31 0:31 /a /b rw - cgroup cgroup rw,cpu")
	f.Fuzz(func(t *testing.T, line string) {
		if g, ok := parseCgroupMount(line, "cpu"); ok && (g.Point == "" || g.Root == "") {
			t.Fatalf("%q gave %+v", line, g)
		}
	})
}
