package stripio

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// The test program is a process of an application too.
const processWord = "stripio-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == processWord {
		os.Exit(child.Main(os.Stdin, os.Stdout, runProcess))
	}
	os.Exit(m.Run())
}

func small() Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Options{Apps: 1, Files: 16, MiB: 3, Mode: Threads, Mapping: ByKernel, Command: []string{self, processWord}, Scheduler: kernel.System()}
}

func TestAllIsMerged(t *testing.T) {
	answers := map[int]string{}
	for _, mode := range Modes {
		for _, mapping := range Mappings {
			for _, apps := range []int{1, 3} {
				if testing.Short() && apps > 1 && mapping != ByKernel {
					continue
				}
				o := small()
				o.Mode, o.Mapping, o.Apps = mode, mapping, apps
				r, err := Run(t.Context(), o)
				require.NoError(t, err, "%s %s %d", mode, mapping, apps)
				assert.Equal(t, 3*apps, r.Transfers)
				assert.Positive(t, r.MBs)
				assert.Positive(t, r.CPUPercent)
				if answers[apps] == "" {
					answers[apps] = r.Answer()
				}
				assert.Equal(t, answers[apps], r.Answer(), "it is the same in every mode")
				assert.NotEqual(t, r.Misses == nil, r.MissesWhy == "")
				assert.NotEqual(t, r.Model == nil, r.ModelWhy == "")
				text, err := json.Marshal(r)
				require.NoError(t, err)
				assert.Contains(t, string(text), `"mb_per_second":`)
			}
		}
	}
}

func TestFilesThatDoNotDivideTheDisk(t *testing.T) {
	for _, files := range []int{1, 7, MaxFiles} {
		o := small()
		o.Files, o.MiB = files, 70 // more than the disk, so that strips come again
		_, err := Run(t.Context(), o)
		assert.NoError(t, err, "%d files", files)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	require.NoError(t, small().Validate())
	for name, change := range map[string]func(*Options){
		"too little memory": func(o *Options) { o.AvailableBytes = 100 << 20 },
	} {
		o := small()
		change(&o)
		_, err := Run(t.Context(), o)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestEndsWithItsContext(t *testing.T) {
	for _, mode := range Modes {
		o := small()
		o.MiB, o.Mode = MaxMiB, mode
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		_, err := Run(ctx, o)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
	}
}

func TestProcessThatDoesNotStartIsAnError(t *testing.T) {
	o := small()
	o.Command = []string{"/bin/false"}
	_, err := Run(t.Context(), o)
	assert.Error(t, err)
	assert.Error(t, exec.Command(small().Command[0], processWord).Run(), "its input ends at once")
}

// oneCPU is a Scheduler that permits one CPU.
type oneCPU struct{ kernel.Own }

func (oneCPU) Affinity(kernel.TID) (cpuset.Set, error) { return cpuset.Of(0), nil }

func TestOneCPU(t *testing.T) {
	for _, mapping := range Mappings {
		o := small()
		o.Scheduler, o.Mapping = oneCPU{kernel.System()}, mapping
		r, err := Run(t.Context(), o)
		require.NoError(t, err)
		assert.Nil(t, r.Model)
		assert.Equal(t, errOneCPU.Error(), r.ModelWhy)
	}
}

func TestDeal(t *testing.T) {
	cpus := []cpuset.CPU{1, 4, 6}
	for _, test := range []struct {
		m                   Mapping
		app, reader, merger int
	}{{ByKernel, 2, -1, -1}, {Source, 0, 1, 1}, {Source, 4, 4, 4}, {Apart, 0, 4, 1}, {Apart, 2, 1, 6}} {
		reader, merger := deal(test.m, cpus, test.app)
		assert.Equal(t, []int{test.reader, test.merger}, []int{reader, merger}, "%v", test)
	}
}

func TestChecksumSeesSwappedAndDamagedStrips(t *testing.T) {
	a, b := make([]uint64, words), make([]uint64, words)
	x, y := fill(a, 1), fill(b, 2)
	require.NotEqual(t, x, y)
	to := make([]uint64, words)
	assert.Equal(t, x, merge(to, a))
	assert.Equal(t, a, to)
	assert.NotEqual(t, weigh(weigh(0, 0, x), 1, y), weigh(weigh(0, 0, y), 1, x))
	a[words-1]++
	assert.NotEqual(t, x, merge(to, a))
}

func TestRingKeepsOrder(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer child.ThreadRoom(2)()
	const strips = 5000
	memory := make([]uint64, ringBytes/8)
	r := newRing(unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), ringBytes))
	go func() {
		runtime.LockOSThread()
		for k := range uint32(strips) {
			r.free(k)[0] = uint64(k)
			r.full(k)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	wrong := 0
	for k := range uint32(strips) {
		if r.next(k)[0] != uint64(k) {
			wrong++
		}
		r.done(k)
	}
	assert.Zero(t, wrong)
}

// BenchmarkStrips is the study's comparison; beside the kernel's choice, both on
// one CPU and on two.
func BenchmarkStrips(b *testing.B) {
	for _, mode := range Modes {
		for _, mapping := range Mappings {
			b.Run(string(mode)+"/"+string(mapping), func(b *testing.B) {
				o := small()
				o.MiB, o.Mode, o.Mapping = 512, mode, mapping
				var transfers, seconds float64
				for b.Loop() {
					r, err := Run(b.Context(), o)
					require.NoError(b, err)
					transfers, seconds = transfers+float64(r.Transfers), seconds+r.Seconds
				}
				b.ReportMetric(transfers*TransferBytes/1e6/seconds, "MB/s")
			})
		}
	}
}
