package attr

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMasksAreWrittenAsTheKernelReadsThem(t *testing.T) {
	for _, tt := range []struct {
		attribute     Attribute
		kernel, value string
		written       string
	}{
		{IRQAffinity, "0-3,8\n", "0-3,8", "0-3,8"},
		{DefaultIRQAffinity, "f\n", "0-3", "0000000f"},
		{WorkqueueMask, "00000001,0000000f\n", "0-3,32", "00000001,0000000f"},
		{RPSCPUs, "00000000\n", "", "00000000"},
		{RPSFlows, "4096\n", "4096", "4096"},
		{Sysctl, "4096\t87380\t6291456\n", "4096 87380 6291456", "4096 87380 6291456"},
	} {
		v, err := decode(tt.attribute, tt.kernel)
		require.NoError(t, err)
		assert.Equal(t, tt.value, v.String())
		assert.Equal(t, tt.written, encode(tt.attribute, v))
	}
}

// FuzzFiles: whatever a journal says, nothing is written outside these folders.
func FuzzFiles(f *testing.F) {
	f.Add("sysctl", "/proc/sys/net/../../etc/passwd")
	f.Add("sysctl", "/proc/sys/0\x00")
	f.Add("irq-affinity", "/proc/irq/24/smp_affinity_list")
	f.Add("rps-cpus", "/sys/class/net/eth0/queues/rx-0/rps_cpus")
	f.Add("autogroup", "/proc/1/autogroup")
	f.Fuzz(func(t *testing.T, attribute, file string) {
		if checkPath(Attribute(attribute), file) != nil {
			return
		}
		within := false
		for _, folder := range []string{"/proc/irq/", "/proc/sys/", "/sys/class/net/", "/sys/devices/virtual/workqueue/", "/sys/kernel/debug/sched/"} {
			within = within || strings.HasPrefix(file, folder)
		}
		if !within || filepath.Clean(file) != file || strings.ContainsAny(file, " \n\x00") {
			t.Fatalf("%q is a file of %q", file, attribute)
		}
	})
}

func TestFilesText(t *testing.T) {
	irq := func(n string) Change {
		return Change{Attribute: IRQAffinity, Object: Object{Path: "/proc/irq/" + n + "/x", Name: "irq " + n}}
	}
	queue := Change{Attribute: RPSCPUs, Object: Object{Path: "/sys/q"}}
	task := Change{Attribute: Affinity, Object: Object{PID: 1, TID: 1}}
	novel := func(path string) Change { return Change{Attribute: "novel", Object: Object{Path: path}} }
	assert.Equal(t, "", FilesText([]Change{task}))
	assert.Equal(t, "irq 24", FilesText([]Change{task, irq("24"), irq("24")}))
	assert.Equal(t, "/sys/q", FilesText([]Change{queue}))
	assert.Equal(t, "2 IRQs, 1 receive queue", FilesText([]Change{irq("24"), queue, irq("25")}))
	assert.Equal(t, "2 files", FilesText([]Change{novel("/a"), novel("/b")}))
}
