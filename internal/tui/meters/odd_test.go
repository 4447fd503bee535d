package meters

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel/kernelfake"
)

// oddHost has two interfaces, two disks, two sensors and two frequencies.
type oddHost struct {
	t    *testing.T
	root string
	r    *Reader
	now  time.Time
}

func newOddHost(t *testing.T) *oddHost {
	h := &oddHost{t: t, root: t.TempDir(), now: time.Unix(1000, 0)}
	for _, file := range []string{"class/net/eth0", "class/net/eth1", "block/sda", "block/sdb"} {
		h.write("sys/"+file+"/device/vendor", "")
	}
	h.r = NewReader(h.root)
	return h
}

func (h *oddHost) write(path, text string) {
	require.NoError(h.t, kernelfake.WriteFiles(h.root, map[string]string{path: text}))
}

// read reads what a second later is there, and returns what is new to say.
func (h *oddHost) read() (news []string) {
	h.t.Helper()
	h.now = h.now.Add(time.Second)
	cmd := h.r.Read(idsOf(All), h.now)
	require.NotNil(h.t, cmd)
	return h.r.Take(cmd().(Msg))
}

const headings = "Inter-|   Receive\n face |bytes    packets\n"

func dev(name, rx, tx string) string {
	return "  " + name + ": " + rx + " 1 0 0 0 0 0 0 " + tx + " 1 0 0 0 0 0 0\n"
}

func stats(name, read, written string) string {
	return "   8       0 " + name + " 1 0 " + read + " 0 1 0 " + written + " 0 0 0 0\n"
}

// TestOddLinesAreLostAlone has an odd line, or file, beside a sound one: the sound one is
// shown, marked as less than all, and the odd one is said once.
func TestOddLinesAreLostAlone(t *testing.T) {
	for _, odd := range []string{"  eth1: x 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n", "  eth1: 5 1 0 0 0 0 0 0 -5 1 0 0 0 0 0 0\n", "  eth1: 5 1 0\n", "garbage\n"} {
		h := newOddHost(t)
		h.write("proc/net/dev", headings+dev("eth0", "1000", "0")+odd)
		assert.Contains(t, h.read()[0], "/proc/net/dev: ", odd)
		h.write("proc/net/dev", headings+dev("eth0", "3000", "70")+odd)
		assert.Empty(t, h.read(), "it was said")
		rx, tx := h.r.Live().of("network")
		assert.Equal(t, [2]float64{2000, 70}, [2]float64{rx, tx}, odd)
		assert.True(t, h.r.Live().partial["network"], odd)
		assert.Len(t, h.r.Live().Faults(), 1, odd)
		h.write("proc/net/dev", headings+dev("eth0", "3000", "70")+dev("eth1", "9000000", "9000000"))
		h.read()
		rx, _ = h.r.Live().of("network")
		assert.Zero(t, rx, "what a device has counted until now is no rate")
		assert.Empty(t, h.r.Live().Faults())
	}
	for _, odd := range []string{stats("sdb", "x", "0"), stats("sdb", "0", "99999999999999999999999"), "8 16 sdb 1\n", "garbage\n"} {
		h := newOddHost(t)
		h.write("proc/diskstats", stats("sda", "0", "0")+odd)
		assert.Contains(t, h.read()[0], "/proc/diskstats: ", odd)
		h.write("proc/diskstats", stats("sda", "2", "4")+odd)
		h.read()
		read, written := h.r.Live().of("disk")
		assert.Equal(t, [2]float64{1024, 2048}, [2]float64{read, written}, odd)
		assert.True(t, h.r.Live().partial["disk"], odd)
	}
	for _, odd := range []string{"x\n", "999999999\n", "99999999999999999999\n"} {
		h := newOddHost(t)
		h.write("sys/class/hwmon/hwmon0/name", "coretemp\n")
		h.write("sys/class/hwmon/hwmon0/temp1_input", odd)
		h.write("sys/class/hwmon/hwmon0/temp2_input", "61000\n")
		assert.Contains(t, h.read()[0], "/sys/class/hwmon/hwmon0/temp1_input: ", odd)
		celsius, _ := h.r.Live().of("temperature")
		assert.Equal(t, 61.0, celsius, odd)
	}
	h := newOddHost(t)
	h.write("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: x\nprocessor\t: 1\ncpu MHz\t\t: 2400.000\n")
	assert.Contains(t, h.read()[0], "/proc/cpuinfo: ")
	ghz, _ := h.r.Live().of("frequency")
	assert.Equal(t, 2.4, ghz)
}

// TestDeviceThatIsAnother has a device that leaves, and one that takes its name.
func TestDeviceThatIsAnother(t *testing.T) {
	h := newOddHost(t)
	for _, text := range []string{dev("eth0", "5000", "0") + dev("eth1", "5000", "0"), dev("eth0", "6000", "0") + dev("eth1", "10", "0")} {
		h.write("proc/net/dev", headings+text)
		assert.Empty(t, h.read())
	}
	rx, _ := h.r.Live().of("network")
	assert.Equal(t, 1000.0, rx)
	assert.True(t, h.r.Live().partial["network"])
	h.write("proc/net/dev", headings+dev("eth0", "6500", "0"))
	h.read()
	rx, _ = h.r.Live().of("network")
	assert.Equal(t, 500.0, rx)
}

// TestNoFileToRead has files that are not there, which is no fault, and one that is no file.
func TestNoFileToRead(t *testing.T) {
	h := newOddHost(t)
	assert.Empty(t, h.read())
	for _, id := range []string{"network", "disk", "temperature", "frequency"} {
		v, _ := h.r.Live().of(id)
		assert.True(t, math.IsNaN(v), id)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(h.root, "proc/net"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(h.root, "proc/net/dev"), 0o644))
	h.read() // without waiting
}

func TestPartOfASumIsMarked(t *testing.T) {
	in := input(200, 50, "network", "temperature", "frequency")
	in.Live.partial = map[string]bool{"network": true, "temperature": true, "frequency": true}
	line := Render(in)[0]
	assert.Contains(t, line, "rx ≥1.2M")
	assert.Contains(t, line, "tx ≥310B")
	assert.Contains(t, line, "temp ≥61°C")
	assert.NotContains(t, line, "≥3.4 GHz")
}
