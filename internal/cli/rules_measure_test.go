package cli

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// measureRules is the environment variable that asks for the figures of piton rules run:
//
//	PITON_MEASURE_RULES=1 go test ./internal/cli -run TestMeasureRules -v
//
// It takes a minute, as root. Another piton of root that changes something meanwhile
// delays it: unshare -m with a /run of its own keeps them apart. What is lost or done twice is a failure; times are only
// printed, since they are the machine's.
const measureRules = "PITON_MEASURE_RULES"

// fiveRules match by name, glob, command line, user and all together.
const fiveRules = `version = 1
[[rule]]
name = "by name"
comm = "pr-name"
nice = 1
[[rule]]
name = "by glob"
comm = "pr-glob*"
cpus = "%d"
[[rule]]
name = "by command line"
command = 'pr-command 6\.5'
nice = 2
[[rule]]
name = "by user"
user = "root"
comm = "pr-user"
policy = "batch"
[[rule]]
name = "all"
comm = "/^pr-all$/"
cgroup = "/*"
user = "root"
command = '^/'
nice = 3
ioprio = "be:7"
`

var fiveNames = []string{"pr-name", "pr-glob-1", "pr-command", "pr-user", "pr-all"}

func TestMeasureRules(t *testing.T) {
	if os.Getenv(measureRules) == "" {
		t.Skipf("takes half a minute and says what this machine does: %s=1 runs it", measureRules)
	}
	needRights(t)
	h := newHome(t)
	d := startRules(t, h, fmt.Sprintf(fiveRules, oneCPU(t)))
	r := h.run("nice", fmt.Sprint(d.pid), "-10") // as the unit for systemd has it
	require.Zero(t, r.code, r.err)
	dir := t.TempDir()
	for _, name := range fiveNames {
		copyOf(t, "sleep", dir, name)
	}
	t.Run("60 a second", func(t *testing.T) { measurePace(t, d, dir, 1000, 60) })
	t.Run("beside a scan", func(t *testing.T) { measureScan(t, d, dir, 1200, 60) })
	t.Run("storm", func(t *testing.T) { measureStorm(t, d, dir, 5*time.Second, 2000) })
}

// measurePace starts n processes, so many a second.
func measurePace(t *testing.T, d *rulesRun, dir string, n, perSecond int) {
	began, used := time.Now(), d.cpu(t)
	started := map[float64]bool{}
	for i := range n {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		pid := spawn(t, dir+"/"+fiveNames[i%len(fiveNames)], "6.5")
		started[float64(pid)] = true
	}
	took := time.Since(began)
	var after []float64
	done := map[float64]int{}
	eventually(t, "each has its rule", func() bool {
		clear(done)
		after = after[:0]
		for _, l := range d.lines("applied") {
			if pid := l["pid"].(float64); started[pid] && l["status"] == "done" {
				done[pid]++
				if seconds, known := l["after_s"].(float64); known { // else the scan at the start met it
					after = append(after, seconds*1000)
				}
			}
		}
		return len(done) == n
	})
	twice := 0
	for _, times := range done {
		twice += min(times-1, 1)
	}
	assert.Zero(t, twice, "processes that were placed more than once")
	slices.Sort(after)
	t.Logf("%d processes in %.1f s: %d missed, %d placed twice", n, took.Seconds(), n-len(done), twice)
	n = len(after)
	t.Logf("in force after the exec: p50 %.2f ms, p90 %.2f, p99 %.2f, max %.2f", after[n/2], after[n*9/10], after[n*99/100], after[n-1])
	t.Logf("the daemon used %.2f %% of a CPU; resident at most %d MB", float64(d.cpu(t)-used)/1e9/took.Seconds()*100, d.peak(t)>>10)
}

// scanPeriod is how often Ananicy looks at all processes (check_freq of its ananicy.conf).
const scanPeriod = 5 * time.Second

// measureScan starts processes that live 2 s. Beside the daemon a scan of /proc looks for them, at
// Ananicy's interval; it changes nothing, which is in its favour.
func measureScan(t *testing.T, d *rulesRun, dir string, n, perSecond int) {
	var began sync.Map // time.Time of each PID
	var met []float64  // seconds after the start
	var spent time.Duration
	end := make(chan struct{})
	var scan sync.WaitGroup
	scan.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		seen := map[int]bool{}
		for used := threadTime(t); ; spent = threadTime(t) - used {
			pids, err := os.ReadDir("/proc")
			assert.NoError(t, err)
			for _, p := range pids {
				pid, err := strconv.Atoi(p.Name())
				if err != nil {
					continue
				}
				_, _ = os.Readlink(filepath.Join("/proc", p.Name(), "exe"))
				for _, file := range []string{"comm", "stat", "cmdline", "autogroup"} {
					_, _ = os.ReadFile(filepath.Join("/proc", p.Name(), file))
				}
				if at, ours := began.Load(pid); ours && !seen[pid] {
					met = append(met, time.Since(at.(time.Time)).Seconds())
				}
				seen[pid] = true
			}
			select {
			case <-end:
				return
			case <-time.After(scanPeriod):
			}
		}
	})
	start, used := time.Now(), d.cpu(t)
	for i := range n {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		pid := spawn(t, dir+"/pr-name", "2")
		began.Store(pid, time.Now())
	}
	took := time.Since(start)
	daemon := time.Duration(d.cpu(t) - used)
	time.Sleep(2 * time.Second)
	close(end)
	scan.Wait()
	var after []float64
	for _, l := range d.lines("applied") {
		if _, ours := began.Load(int(l["pid"].(float64))); ours && l["status"] == "done" {
			after = append(after, l["after_s"].(float64))
		}
	}
	for name, in := range map[string][]float64{"the scan": met, "piton": after} {
		slices.Sort(in)
		t.Logf("%s met %d of %d, p50 %.4f s after the start, p99 %.4f", name, len(in), n, in[len(in)/2], in[len(in)*99/100])
	}
	t.Logf("the scan used %.2f %% of a CPU, the daemon %.2f", spent.Seconds()/took.Seconds()*100, daemon.Seconds()/took.Seconds()*100)
}

// threadTime is what the thread has used.
func threadTime(t *testing.T) time.Duration {
	var u unix.Rusage
	assert.NoError(t, unix.Getrusage(unix.RUSAGE_THREAD, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measureStorm starts as many processes as it can, up to so many a second. Those that live
// must all get their rule.
func measureStorm(t *testing.T, d *rulesRun, dir string, length time.Duration, perSecond int) {
	shortest(t, dir, "pr-short")
	shortest(t, dir, "pr-glob-short")
	began, used := time.Now(), d.cpu(t)
	var n atomic.Int64
	var mu sync.Mutex
	lives := map[float64]bool{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for time.Since(began) < length {
				i := n.Add(1)
				time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
				name, seconds := []string{"pr-short", "pr-glob-short"}[i%2], "0"
				if i%20 == 0 {
					name, seconds = "pr-name", "20"
				}
				pid := spawn(t, dir+"/"+name, seconds)
				if i%20 == 0 {
					mu.Lock()
					lives[float64(pid)] = true
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	used = d.cpu(t) - used
	done := map[float64]int{}
	eventually(t, "each that lives has its rule", func() bool {
		clear(done)
		for _, l := range d.lines("applied") {
			if pid := l["pid"].(float64); lives[pid] && l["status"] == "done" {
				done[pid]++
			}
		}
		return len(done) == len(lives)
	})
	for pid, times := range done {
		assert.Equal(t, 1, times, "%v was placed more than once", pid)
	}
	lost := 0
	for _, l := range d.lines("daemon") {
		if l["event"] == "lost" {
			lost++
		}
	}
	require.NoError(t, d.cmd.Process.Signal(syscall.Signal(0)), "it still runs")
	t.Logf("%.0f execs a second for %.1f s: all %d that live were placed once, events were lost %d times; the daemon used %.1f %% of a CPU, resident at most %d MB",
		float64(n.Load())/took.Seconds(), took.Seconds(), len(lives), lost, float64(used)/1e9/took.Seconds()*100, d.peak(t)>>10)
}

// shortest writes a program that ends at once, without a library to load: else a machine of
// two CPUs cannot start so many.
func shortest(t *testing.T, dir, name string) {
	if runtime.GOARCH != "amd64" {
		copyOf(t, "true", dir, name)
		return
	}
	const at = 0x400000
	code := []byte{0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05} // mov $SYS_exit,%eax; xor %edi,%edi; syscall
	var b bytes.Buffer
	header := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Entry: at + 64 + 56,
	}
	segment := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: at, Paddr: at,
		Filesz: uint64(64 + 56 + len(code)), Memsz: uint64(64 + 56 + len(code)), Align: 4096}
	for _, part := range []any{header, segment, code} {
		require.NoError(t, binary.Write(&b, binary.LittleEndian, part))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o755))
}

// spawn starts a process that is collected when it ends.
func spawn(t *testing.T, argv ...string) int {
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{})
	if err != nil {
		assert.NoError(t, err)
		return 0
	}
	go func() { _, _ = p.Wait() }()
	return p.Pid
}

// cpu is the time that the daemon has used, in ns.
func (d *rulesRun) cpu(t *testing.T) uint64 {
	ns, err := kernel.ProcessTime(d.pid)
	require.NoError(t, err)
	return ns
}

// peak is the most memory that it had, in KB.
func (d *rulesRun) peak(t *testing.T) int {
	status, err := procfs.New("/").File(fmt.Sprint(d.pid), "status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb := 0
	_, err = fmt.Sscan(rest, &kb)
	require.NoError(t, err)
	return cmp.Or(kb, 1)
}
