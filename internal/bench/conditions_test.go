package bench

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel/kernelfake"
)

func TestReadConditions(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, kernelfake.WriteFiles(root, map[string]string{
		"proc/sys/kernel/hostname":           "web-07\n",
		"proc/sys/kernel/osrelease":          "6.18.5\n",
		"proc/cmdline":                       "quiet isolcpus=2-3\n",
		"proc/stat":                          "cpu  50 0 20 20 0 0 0 10 0 0\ncpu0 50 0 20 20 0 0 0 10 0 0\n",
		"proc/loadavg":                       "1.25 0.50 0.10 2/300 4711\n",
		"proc/cpuinfo":                       "processor\t: 0\nmodel name\t: AMD EPYC 9354\n",
		"sys/devices/system/cpu/online":      "0-3\n",
		"sys/devices/system/cpu/isolated":    "2-3\n",
		"sys/devices/system/cpu/smt/control": "off\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
		"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave\n",
	}))
	assert.Equal(t, Conditions{
		Host: "web-07", Kernel: "6.18.5", CPUModel: "AMD EPYC 9354", Governor: "performance,powersave", SMT: "off",
		Isolated: "2-3", Online: "0-3", Load1: 1.25, Version: "1.0",
		Go: runtime.Version(), Cmdline: "quiet isolcpus=2-3", Steal: 0.1,
	}, ReadConditions(root, "1.0"))
	assert.Equal(t, Conditions{Version: "1.0", Go: runtime.Version()}, ReadConditions(t.TempDir(), "1.0"), "nothing there is nothing known")
}

func TestParseCPUModel(t *testing.T) {
	assert.Equal(t, "0xd40", cpuModel("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"))
	assert.Empty(t, cpuModel("\nmodel name\n"))
}
