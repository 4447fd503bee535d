package profile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/sample"
)

var update = flag.Bool("update", false, "rewrite the golden profiles")

// golden compares a profile with a file that somebody has looked at.
func golden(t *testing.T, name string, p *Profile) {
	t.Helper()
	path, got := filepath.Join("testdata", name), string(Encode(p))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run go test -update once")
	assert.Equal(t, string(want), got)
}

// holds checks that a profile which was just saved asks for nothing.
func holds(t *testing.T, p *Profile, s *State) {
	t.Helper()
	again, err := Parse(Encode(p))
	require.NoError(t, err)
	r := Resolve(again, s)
	assert.Empty(t, drift(r))
	assert.Empty(t, r.Missing)
	requests := r.Requests("")
	assert.Empty(t, requests)
}

func TestCaptureuntouched(t *testing.T) {
	m := machine()
	p := Capture(m.State, CaptureOptions{})
	assert.Equal(t, "nothing: everything is as Linux starts", p.Summary())
	golden(t, "untouched.toml", p)
}

func TestCapture(t *testing.T) {
	m := tuned()
	p := Capture(m.State, CaptureOptions{})
	golden(t, "tuned.toml", p)
	holds(t, p, m.State)
}

func TestCaptureAll(t *testing.T) {
	m := tuned()
	p := Capture(m.State, CaptureOptions{All: true, Sysctls: []string{"net/ipv4/conf/*/forwarding", "no/such*"}})
	golden(t, "all.toml", p)
	p.Notes = nil
	holds(t, p, m.State)
}

func TestCaptureOnly(t *testing.T) {
	m := tuned()
	p := Capture(m.State, CaptureOptions{Only: map[kernel.TID]bool{400: true}})
	golden(t, "only.toml", p)
	holds(t, p, m.State)
}

// TestCaptureOnlyWithSysctls adds the settings that are named, and no others.
func TestCaptureOnlyWithSysctls(t *testing.T) {
	m := tuned()
	p := Capture(m.State, CaptureOptions{
		Only: map[kernel.TID]bool{400: true}, Sysctls: []string{"kernel/numa_balancing"},
		Journal: []change.Entry{{Changes: []change.Change{{Object: attr.Object{Path: "/proc/sys/net/ipv4/tcp_mem"}, Status: attr.Done}}}},
	})
	assert.Len(t, p.Tasks, 1)
	assert.Equal(t, []Sysctl{{Name: "kernel.numa_balancing", Value: "1"}}, p.sysctls)
	holds(t, p, m.State)
}

// TestCaptureSomeOfAFamily names the kernel threads that are asked for, not all of
// their family.
func TestCaptureSomeOfAFamily(t *testing.T) {
	m := machine()
	for i := range kernel.TID(3) {
		k := m.kthread(50+i, fmt.Sprintf("rcuc/%d", i))
		k.Policy, k.RTPrio, k.Affinity = kernel.FIFO, uint8(5+i/2), cpuset.Of(cpuset.CPU(i))
		k.Flags |= sample.FlagNoSetAffinity
	}
	only := func(tids ...kernel.TID) CaptureOptions {
		o := CaptureOptions{Only: map[kernel.TID]bool{}}
		for _, tid := range tids {
			o.Only[tid] = true
		}
		return o
	}
	check := func(o CaptureOptions, want ...string) {
		t.Helper()
		p := Capture(m.State, o)
		var got []string
		for _, item := range p.Kthreads {
			got = append(got, item.Name)
		}
		assert.Equal(t, want, got)
		holds(t, p, m.State)
	}
	check(only(51), "rcuc/1")
	check(only(50, 51), "rcuc/0", "rcuc/1")
	check(CaptureOptions{CPUs: set("2")}, "rcuc/2")
	m.task(52).RTPrio = 5
	check(CaptureOptions{}, "rcuc/*")
	check(only(50, 51, 52), "rcuc/*")
	check(only(52), "rcuc/2")

	m.kthread(60, "irq/7-x").Nice = 1
	m.kthread(61, "irq/8-x").Nice = 1
	check(only(60), "irq/*-x") // the numbers are others after a boot
	m.kthread(70, "twin").Nice = 1
	m.kthread(71, "twin")
	m.task(61).Nice = 2
	for _, tid := range []kernel.TID{60, 70} {
		p := Capture(m.State, only(tid))
		assert.Empty(t, p.Kthreads, "it would mean the other as well")
		assert.Len(t, p.Notes, 1)
	}
}

func TestCaptureLinesOfOneName(t *testing.T) {
	m := machine()
	m.line(24, "shared", "", "2", irq.Settable)
	m.line(25, "shared", "", "2", irq.Settable)
	p := Capture(m.State, CaptureOptions{})
	require.Len(t, p.IRQs, 1)
	holds(t, p, m.State)
	m.IRQs[1].Requested.Set = set("3")
	p = Capture(m.State, CaptureOptions{})
	assert.Empty(t, p.IRQs)
	assert.Len(t, p.Notes, 2)
}

func TestCaptureOnCPUs(t *testing.T) {
	p := Capture(tuned().State, CaptureOptions{CPUs: set("6")})
	for _, item := range p.Tasks {
		assert.NotEqual(t, "nginx", item.Name, "the workers are elsewhere")
	}
	assert.Len(t, p.Tasks, 4)
	assert.Empty(t, p.Kthreads)
	assert.Empty(t, p.IRQs)
}

// TestCaptureJournal saves what piton has set although it looks like the default.
func TestCaptureJournal(t *testing.T) {
	m := machine()
	m.process(100, "nginx", "nginx", "/")
	m.line(25, "eth1", "eth1", "0-7", 0)
	made := func(c change.Change) change.Change { c.Status = attr.Done; return c }
	entries := []change.Entry{
		{ID: 1, Changes: []change.Change{made(change.Change{Object: attr.Object{TID: 100, StartTicks: 1000}, Attribute: attr.Nice})}},
		{ID: 2, Changes: []change.Change{made(change.Change{Object: attr.Object{Path: "/proc/sys/kernel/numa_balancing"}}), made(change.Change{Object: attr.Object{Path: irq.AffinityFile(25)}})}},
		{ID: 3, Undone: true, Changes: []change.Change{made(change.Change{Object: attr.Object{TID: 100, StartTicks: 1000}, Attribute: attr.Policy})}},
		{ID: 4, PastBoot: true, Changes: []change.Change{made(change.Change{Object: attr.Object{TID: 1, StartTicks: 10}, Attribute: attr.Nice})}},
		{ID: 5, Changes: []change.Change{made(change.Change{Object: attr.Object{TID: 1, StartTicks: 11}, Attribute: attr.Nice})}}, // a number used again
		{ID: 6, Changes: []change.Change{made(change.Change{Object: attr.Object{TID: 1, StartTicks: 10}, Attribute: attr.Nice})}},
		{ID: 7, Undoes: []uint64{6}, Changes: []change.Change{made(change.Change{Object: attr.Object{TID: 1, StartTicks: 10}, Attribute: attr.Nice})}}, // a part
	}
	p := Capture(m.State, CaptureOptions{Journal: entries})
	golden(t, "journal.toml", p)
	holds(t, p, m.State)
}

// TestCaptureIsolation saves the isolation, and not each mask that it changed.
func TestCaptureIsolation(t *testing.T) {
	m := tuned()
	for i := range m.Tasks {
		if left := m.Tasks[i].Affinity.AndNot(set("6-7")); !left.Empty() {
			m.Tasks[i].Affinity = left
		}
	}
	m.DefaultIRQ.Set, m.Workqueue.Set = set("0-5"), set("0-5")
	m.IRQs[1].Requested.Set = set("0-5")
	m.Masks = m.masks()
	p := Capture(m.State, CaptureOptions{})
	golden(t, "isolated.toml", p)
	holds(t, p, m.State)
}

func TestCaptureCannotTellApart(t *testing.T) {
	m := machine()
	for i := range kernel.TID(2) {
		m.process(100+i, "twin", "twin", "/").Nice = int8(i)
	}
	m.process(200, "own", "own", "/")
	for i := range kernel.TID(2) {
		m.thread(200, 201+i, "w", "own", "/").Nice = int8(i + 1)
	}
	m.kthread(9, "irq/7-x").Policy = kernel.Batch
	m.kthread(10, "irq/8-x")
	p := Capture(m.State, CaptureOptions{})
	assert.Empty(t, p.Tasks)
	assert.Empty(t, p.Kthreads)
	require.Len(t, p.Notes, 3)
	assert.Contains(t, p.Notes[0], `2 processes "twin" differ`)
	assert.Contains(t, p.Notes[1], `threads "w" of own differ`)
	assert.Contains(t, string(Encode(p)), "# not saved: 2 processes")
}

// TestNames saves tasks whose names look like something else.
func TestNames(t *testing.T) {
	for _, comm := range []string{"a", "12", "a*b", "[x]", `a\b`, "/x/", "/x", "user:root", "thread:/x/", "", " ", "a b", "\x1b[2J", "\xff\xfe", "é", "'", `"`, "'\"", "#"} {
		m := machine()
		m.process(100, comm, "", "/").Nice = 3
		m.process(101, "other", "", "/")
		p := Capture(m.State, CaptureOptions{})
		require.Len(t, p.Tasks, 1, "%q", comm)
		again, err := Parse(Encode(p))
		require.NoError(t, err, "%q: %s", comm, Encode(p))
		r := Resolve(again, m.State)
		require.Len(t, r.Wants, 1, "%q means one: %s", comm, Encode(p))
		assert.EqualValues(t, 100, r.Wants[0].TID)
	}
}

func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.toml")
	m := tuned()
	p := Capture(m.State, CaptureOptions{})
	require.NoError(t, Save(path, p, false))
	first, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, untouched(first))
	require.NoError(t, Save(path, machineProfile(), false), "piton's own work may be replaced")
	second, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.NotEqual(t, first, second)

	edited := append(second, "# mine\n"...)
	require.NoError(t, os.WriteFile(path, edited, 0o600))
	require.NoError(t, os.Chmod(path, 0o600))
	require.ErrorIs(t, Save(path, p, false), ErrEdited)
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, edited, now)

	link := filepath.Join(filepath.Dir(path), "link")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, Save(link, p, true))
	now, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, first, now)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "the file's mode stays")
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 2, "nothing is left behind")
	require.Error(t, Save(filepath.Join(path, "no/dir"), p, false))
}

func machineProfile() *Profile {
	return &Profile{Version: Version, sysctls: []Sysctl{{Name: "vm.swappiness", Value: "1"}}}
}

func TestQuote(t *testing.T) {
	for _, s := range []string{"", "a", `a\d+`, `it's`, `'"\`, "\n\t\x7f", "é"} {
		p, err := Parse(fmt.Appendf(nil, "version = 1\n[[task]]\nname = 'x'\nnice = 1\ncgroup = %s\n", quote(s)))
		if err == nil {
			assert.Equal(t, s, p.Tasks[0].Cgroup)
			continue
		}
		assert.Contains(t, err.Error(), "is no glob", "%q as %s", s, quote(s))
	}
}
