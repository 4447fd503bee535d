package irq

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/topology/topologytest"
)

func TestParseInterrupts(t *testing.T) {
	x86 := "           CPU0       CPU2       \n" +
		" 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n" +
		" 25:          7         12 PCI-MSIX-0000:00:01.0   0-edge      PCIe PME, aerdrv\n" +
		"LOC:    5249589    5069430   Local timer interrupts\n" +
		"ERR:          3\n"
	in, err := ParseInterrupts([]byte(x86))
	require.NoError(t, err)
	require.NoError(t, in.Odd)
	assert.Equal(t, []cpuset.CPU{0, 2}, in.CPUs)
	assert.Equal(t, []Line{
		{"24", 24, []uint64{1, 0}, "IO-APIC   5-edge      ACPI:Ged"},
		{"25", 25, []uint64{7, 12}, "PCI-MSIX-0000:00:01.0   0-edge      PCIe PME, aerdrv"},
		{"LOC", -1, []uint64{5249589, 5069430}, "Local timer interrupts"},
		{"ERR", -1, []uint64{3}, ""},
	}, in.Lines)

	in, err = ParseInterrupts([]byte("      CPU0  CPU1\n 11:  5  6  GICv3  27 Level     arch_timer\nIPI0:  1  2       Rescheduling interrupts\n  NET_RX:  8  9\n"))
	require.NoError(t, err)
	assert.Equal(t, []Line{
		{"11", 11, []uint64{5, 6}, "GICv3  27 Level     arch_timer"},
		{"IPI0", -1, []uint64{1, 2}, "Rescheduling interrupts"},
		{"NET_RX", -1, []uint64{8, 9}, ""},
	}, in.Lines)

	for _, bad := range []string{"", "\n", "CPU\n", "CPUx\n", "24: 1\n", "CPU99999999\n"} {
		_, err := ParseInterrupts([]byte(bad))
		assert.Error(t, err, "%q", bad)
	}
}

// A line that is not understood is lost alone, and not counted as 0.
func TestParseOddInterrupts(t *testing.T) {
	sound := []Line{{"24", 24, []uint64{1, 2}, "x"}, {"25", 25, []uint64{3, 4}, "y"}}
	for odd, want := range map[string][]Line{
		"24: 1 2 x\n25: 3 4 y\n":                 sound,
		"24: 1 2 x\n24\n25: 3 4 y\n":             sound,
		"24: 1 2 x\n24: 1 2 x\n25: 3 4 y\n":      sound,
		"24: 1 2 x\n: 1\n25: 3 4 y\n":            sound,
		"24: 1\n25: 3 4 y\n":                     {{"24", 24, nil, ""}, sound[1]},
		"24: -1 2 x\n25: 3 4 y\n":                {{"24", 24, nil, ""}, sound[1]},
		"24: 99999999999999999999 2 x\n":         {{"24", 24, nil, ""}},
		"24: 1 2 x\nLOC: 5 -6\n25: 3 4 y\n":      nil, // below
		"24: 1 2 x\nFIQ:              usb_fiq\n": {sound[0], {"FIQ", -1, nil, "usb_fiq"}},
	} {
		in, err := ParseInterrupts([]byte("CPU0 CPU1\n" + odd))
		require.NoError(t, err, odd)
		if want == nil {
			want = []Line{sound[0], {"LOC", -1, nil, ""}, sound[1]}
		}
		assert.Equal(t, want, in.Lines, odd)
		fiq := len(in.Lines) == 2 && in.Lines[1].Name == "FIQ"
		assert.Equal(t, odd == "24: 1 2 x\n25: 3 4 y\n" || fiq, in.Odd == nil, odd)
	}
}

// The files are those of guests, a few lines of each: from 7.2 on there is no ERR, MIS, RTR
// and DFR, a label has four letters, and the columns are wider.
func TestRecordedInterrupts(t *testing.T) {
	const msi, msix = "PCI-MSI", "PCI-MSIX-0000:00:01.0"
	newest := []string{"NMI", "LOC", "RES", "MCP", "PIW", "VPMI"}
	for kernel, want := range map[string]struct {
		named       []string
		chip, hwirq string // of line 25
		timer       uint64
		mostTicks   uint64
	}{
		"6.1":  {[]string{"NMI", "LOC", "RTR", "RES", "ERR", "MIS", "PIW"}, msi, "16385", 169, 829},
		"6.12": {[]string{"NMI", "LOC", "RTR", "RES", "DFR", "MCP", "ERR", "MIS", "PIW"}, msix, "1", 245, 730},
		"7.2":  {newest, msix, "1", 304, 1220},
		"7.3":  {newest, msix, "1", 226, 1025},
	} {
		t.Run(kernel, func(t *testing.T) {
			b, err := os.ReadFile("testdata/interrupts-" + kernel + ".txt")
			require.NoError(t, err)
			h := newHost(t)
			h.file("proc/interrupts", string(b))
			s, err := New(h.root).NewReader().Read()
			require.NoError(t, err)
			assert.Equal(t, []cpuset.CPU{0, 1, 2, 3}, s.CPUs)
			var named []string
			for _, n := range s.Named {
				named = append(named, n.Name)
				_, _, known := Meaning(n.Name)
				assert.True(t, known, n.Name)
				switch n.Name {
				case "ERR", "MIS":
					assert.Equal(t, []uint64{0}, n.Counts)
				case "LOC":
					assert.Equal(t, want.mostTicks, slices.Max(n.Counts))
					fallthrough
				default:
					assert.Len(t, n.Counts, 4, n.Name)
				}
			}
			assert.Equal(t, want.named, named)
			require.Len(t, s.IRQs, 4)
			timer, acpi, last := s.IRQs[0], s.IRQs[1], s.IRQs[3]
			assert.Equal(t, []uint64{want.timer, 0, 0, 0}, timer.Counts)
			assert.Equal(t, []any{"IO-APIC", "9", "fasteoi", []string{"acpi"}}, []any{acpi.Chip, acpi.HWIRQ, acpi.Type, acpi.Actions})
			assert.Equal(t, []any{want.chip, want.hwirq, "edge", []string{"virtio0-virtqueues"}}, []any{last.Chip, last.HWIRQ, last.Type, last.Actions})
			assert.Equal(t, []uint64{0, 0, 0, 5}, last.Counts)

			counts := func(text string) map[string][]uint64 {
				in, err := ParseInterrupts([]byte(text))
				require.NoError(t, err)
				out := map[string][]uint64{}
				for _, l := range in.Lines {
					if l.Counts != nil {
						out[l.Name] = l.Counts
					}
				}
				return out
			}
			base, lines := counts(string(b)), strings.SplitAfter(string(b), "\n")
			for i, line := range lines[1 : len(lines)-1] {
				of, _, _ := strings.Cut(strings.TrimSpace(line), ":")
				for how, odd := range topologytest.Odd {
					changed := slices.Clone(lines)
					changed[i+1] = odd(strings.TrimSuffix(line, "\n"))
					now := counts(strings.Join(changed, ""))
					for name, was := range base {
						if got, known := now[name]; known || name != of {
							assert.Equal(t, was, got, "%s: %s, line %q", name, how, line)
						}
					}
				}
			}
		})
	}
}

func FuzzParseInterrupts(f *testing.F) {
	f.Add([]byte("  CPU0 CPU1\n 24: 1 0 IO-APIC 5-edge x\nLOC: 5 6 Local timer interrupts\nERR: 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := ParseInterrupts(b)
		if err != nil {
			return
		}
		for _, l := range in.Lines {
			assert.NotEmpty(t, l.Name)
			assert.LessOrEqual(t, len(l.Counts), len(in.CPUs))
			if l.Number >= 0 && l.Counts != nil {
				assert.Len(t, l.Counts, len(in.CPUs))
				parseText(l.Text)
			}
		}
	})
}

func TestParseText(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Facts
	}{
		{"IO-APIC   5-edge      ACPI:Ged", Facts{Chip: "IO-APIC", HWIRQ: "5", Type: "edge", Actions: []string{"ACPI:Ged"}}},
		{"PCI-MSI 524288-edge      PCIe PME, aerdrv", Facts{Chip: "PCI-MSI", HWIRQ: "524288", Type: "edge", Actions: []string{"PCIe PME", "aerdrv"}}},
		{"GICv3  27 Level     arch_timer", Facts{Chip: "GICv3", HWIRQ: "27", Type: "level", Actions: []string{"arch_timer"}}},
		{"IO-APIC 9-fasteoi", Facts{Chip: "IO-APIC", HWIRQ: "9", Type: "fasteoi"}},
		{"", Facts{}},
	} {
		assert.Equal(t, tt.want, parseText(tt.text), tt.text)
	}
}

func TestParseQueue(t *testing.T) {
	for _, tt := range []struct{ action, want string }{
		{"virtio2-input.0", "rx 0"},
		{"virtio2-output.13", "tx 13"},
		{"virtio1-req.2", "io 2"},
		{"virtio2-config", ""},
		{"virtio1-virtqueues", ""},
		{"eth0-TxRx-3", "rxtx 3"},
		{"i40e-ens1f0-TxRx-17", "rxtx 17"},
		{"eth0-Tx-Rx-2", "rxtx 2"},
		{"eth0-rx-0", "rx 0"},
		{"eth0-tx-4", "tx 4"},
		{"mlx5_comp3@pci:0000:3b:00.0", "rxtx 3"},
		{"nvme0q0", ""},
		{"nvme12q8", "io 8"},
		{"nvmeq8", ""},
		{"irq9", ""},
		{"matrix7", ""},
		{"i8042", ""},
		{"eth0", ""},
		{"", ""},
		{"eth0-rx-99999999999999999999", ""},
	} {
		assert.Equal(t, tt.want, ParseQueue(tt.action).String(), tt.action)
	}
}

func FuzzParseQueue(f *testing.F) {
	f.Add("mlx5_comp3@pci:0000:3b:00.0")
	f.Fuzz(func(t *testing.T, action string) {
		q := ParseQueue(action)
		assert.GreaterOrEqual(t, q.Index, 0)
		assert.NotEmpty(t, q.String()+"-")
	})
}

func TestParseSpurious(t *testing.T) {
	got, err := ParseSpurious("count 14\nunhandled 6\nlast_unhandled 4294668528 ms\n")
	require.NoError(t, err)
	assert.Equal(t, Spurious{Count: 14, Unhandled: 6}, got)
	for _, bad := range []string{"", "count 1", "count x\nunhandled 1"} {
		_, err := ParseSpurious(bad)
		assert.Error(t, err, "%q", bad)
	}
}

func FuzzParseSpurious(f *testing.F) {
	f.Add("count 14\nunhandled 6\nlast_unhandled 0 ms\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSpurious(text); err != nil {
			assert.Zero(t, s)
		}
	})
}

func TestThreadLine(t *testing.T) {
	for _, tt := range []struct {
		comm string
		irq  int
		ok   bool
	}{{"irq/24-eth0", 24, true}, {"irq/24-s-eth0", 24, true}, {"irq/-x", 0, false}, {"irq/2x-y", 0, false}, {"irqbalance", 0, false}, {"irq/7", 0, false}} {
		n, ok := ThreadLine(tt.comm)
		assert.Equal(t, tt.ok, ok, tt.comm)
		if ok {
			assert.Equal(t, tt.irq, n, tt.comm)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("irq/24-eth0")
	f.Fuzz(func(t *testing.T, word string) {
		if n, ok := ThreadLine(word); ok {
			assert.GreaterOrEqual(t, n, 0)
		}
	})
}
