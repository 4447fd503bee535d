package bench

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"piton/internal/chart"
	"piton/internal/group"
	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// Conditions is what else decides a result: the machine and its settings when
// the study began. What could not be read is empty.
type Conditions struct {
	Host     string  `json:"host"`
	Kernel   string  `json:"kernel"`    // release, "6.18.5"
	CPUModel string  `json:"cpu_model"` // as /proc/cpuinfo names it
	Governor string  `json:"governor"`  // of cpufreq, several joined with ","; "" without frequency scaling
	SMT      string  `json:"smt"`       // "on", "off", "notsupported", …
	Isolated string  `json:"isolated"`  // cpulist
	Online   string  `json:"online"`    // cpulist
	Load1    float64 `json:"load1"`
	Version  string  `json:"piton_version"`
	Go       string  `json:"go"`      // the toolchain that made the workloads, "go1.26.8"
	Cmdline  string  `json:"cmdline"` // of the kernel
	Steal    float64 `json:"steal"`   // share of all CPUs' time since boot that the hypervisor took, 0..1
}

// ReadConditions reads them below a root path; version is piton's own.
func ReadConditions(root, version string) Conditions {
	proc := procfs.New(root)
	cpus := filepath.Join(proc.Root(), "sys/devices/system/cpu")
	load, _ := proc.LoadAvg()
	c := Conditions{
		Host:     word(proc.Path("sys/kernel/hostname")),
		Kernel:   word(proc.Path("sys/kernel/osrelease")),
		CPUModel: cpuModel(word(proc.Path("cpuinfo"))),
		Governor: governors(proc.Root()),
		SMT:      word(filepath.Join(cpus, "smt/control")),
		Isolated: word(filepath.Join(cpus, "isolated")),
		Online:   word(filepath.Join(cpus, "online")),
		Load1:    load.Load1,
		Version:  version,
		Go:       runtime.Version(),
		Cmdline:  word(proc.Path("cmdline")),
	}
	c.Steal, _, _ = ReadHostTicks(proc).Since(HostTicks{have: true})
	return c
}

// word is what a file has, without blanks around it.
func word(path string) string {
	text, _ := procfs.Text(path)
	return text
}

func governors(root string) string {
	names := group.Each(tree.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"), word)
	slices.Sort(names)
	return strings.TrimPrefix(strings.Join(slices.Compact(names), ","), ",") // "" of one that cannot be read is first
}

// cpuModel finds the model in /proc/cpuinfo: "model name" on x86, "CPU part" on arm64,
// which has no name there.
func cpuModel(info string) string {
	for _, key := range []string{"model name", "CPU part"} {
		for line := range strings.Lines(info) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// Condition is one of the Conditions in words.
type Condition struct {
	Name, Value string // Value is "" when not known
}

// List is the conditions in words, in the order in which they matter.
func (c Conditions) List() []Condition {
	steal := ""
	if c.Steal > 0 {
		steal = chart.Percent(c.Steal) + " since boot"
	}
	return []Condition{
		{"host", c.Host}, {"CPU", c.CPUModel}, {"CPUs online", c.Online}, {"SMT", c.SMT}, {"isolated CPUs", c.Isolated},
		{"governor", c.Governor}, {"kernel", c.Kernel}, {"kernel command line", c.Cmdline}, {"piton", c.Version}, {"Go", c.Go},
		{"load", fmt.Sprintf("%.2f", c.Load1)}, {"steal", steal},
	}
}

// Levels from which a load and a steal count as different: half a busy task for
// each CPU of a small machine, and as much as effects are looked for.
const differentLoad, differentSteal = 1.0, noticeableSteal

// Differences says in words in what a study's conditions differ from earlier
// ones. What is not known of either is no difference.
func (c Conditions) Differences(earlier Conditions) (out []string) {
	now, then := c.List(), earlier.List()
	for i, f := range now {
		if f.Name != "load" && f.Name != "steal" && f.Value != "" && then[i].Value != "" && f.Value != then[i].Value {
			out = append(out, fmt.Sprintf("%s %s, then %s", f.Name, f.Value, then[i].Value))
		}
	}
	if math.Abs(c.Load1-earlier.Load1) >= differentLoad {
		out = append(out, fmt.Sprintf("load %.1f, then %.1f", c.Load1, earlier.Load1))
	}
	if math.Abs(c.Steal-earlier.Steal) >= differentSteal {
		out = append(out, fmt.Sprintf("steal %s, then %s", chart.Percent(c.Steal), chart.Percent(earlier.Steal)))
	}
	return out
}

// HostTicks are the times of all CPUs together, in USER_HZ ticks.
type HostTicks struct {
	steal, busy, total uint64
	have               bool
}

// ReadHostTicks reads those of now; what cannot be read is not had.
func ReadHostTicks(proc procfs.FS) HostTicks {
	c, err := proc.Counters()
	if err != nil || len(c.Lost) > 0 { // sums of different CPUs say nothing
		return HostTicks{}
	}
	t := HostTicks{have: true}
	for _, cpu := range c.CPUs { // guest times are in User and Nice already
		busy := cpu.User + cpu.Nice + cpu.System + cpu.IRQ + cpu.SoftIRQ
		t.steal += cpu.Steal
		t.busy += busy
		t.total += busy + cpu.Idle + cpu.IOWait + cpu.Steal
	}
	return t
}

// Since is the share of the CPUs' time that the hypervisor took since then, and the time that
// tasks and interrupts used all CPUs; ok is false when no tick passed or a CPU went offline
// meanwhile.
func (t HostTicks) Since(then HostTicks) (stolen float64, busy time.Duration, ok bool) {
	if !t.have || !then.have || t.total <= then.total || t.steal < then.steal || t.busy < then.busy {
		return 0, 0, false
	}
	busy = time.Duration(t.busy-then.busy) * 10 * time.Millisecond // USER_HZ is 100 wherever piton runs
	return float64(t.steal-then.steal) / float64(t.total-then.total), busy, true
}
