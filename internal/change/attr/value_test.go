package attr

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// notations are values as people type them, by how they are written.
var notations = map[Attribute]map[string]string{
	Affinity: {"0-3": "0-3", " 3,1 ": "1,3", "0-1,2": "0-2"},
	Memory:   {"0:812 1:3": "0:812 1:3", "1": "1", "cpus": "cpus", "cpus 0-3": "cpus 0-3"},
	Nice:     {"-20": "-20", "19": "19", "+3": "3", " 0 ": "0"},
	Slice: {
		"3ms": "3ms", "500us": "500µs", "0": "default", "default": "default", "100ms": "100ms", "0.1ms": "100µs", " 2.5ms ": "2.5ms",
		"none": "none",
	},
	Clamp: {"0,512": "0,512", "20%,80%": "204,819", "0%,100%": "0,1024", "default": "default", " 5 , 5 ": "5,5"},
	IOPrio: {
		"none": "none", "idle": "idle", "3": "idle", "0": "none", "be": "best-effort:4", "best-effort:0": "best-effort:0",
		"2:7": "best-effort:7", "rt:0": "real-time:0", "REALTIME": "real-time:4", "real-time:7": "real-time:7",
	},
	CoreCookie: {"none": "none", "new": "new", "of 3641": "of 3641", "0x1f3a": "0x1f3a", "1F3A": "0x1f3a"},
	Policy: {
		"other": "OTHER", "normal": "OTHER", "SCHED_BATCH": "BATCH", "Idle": "IDLE", " rr ": "RR:1",
		"fifo": "FIFO:1", "fifo:10": "FIFO:10", "RR:99": "RR:99", "30": "30",
		"fifo:10,reset-on-fork": "FIFO:10,reset-on-fork", "other,RESET-ON-FORK": "OTHER,reset-on-fork",
		"ext": "EXT", "deadline:1ms/2ms/3ms,Reclaim,reset-on-fork": "DEADLINE:1ms/2ms/3ms,reset-on-fork,reclaim",
	},
	Weight: {"100": "100", " 0.2 ": "0.2", "33.5": "33.5", "idle": "idle", "25600": "25600"},
	Quota: {
		"20": "20%", "150%": "150%", "none": "none", "33.3% burst 5ms": "33.3% burst 5ms", "20% burst 0": "20% burst 0s",
		"20% period 100ms": "20% period 100ms", "none period 0.05s burst 1500us": "none period 50ms burst 1.5ms",
	},
	RPSCPUs:  {"": "", "0-3": "0-3"},
	RPSFlows: {" 4096 ": "4096", "0": "0"},
	Sysctl:   {"4096\t87380  1 \n": "4096 87380 1", "-1": "-1", "": ""},
}

// nonsense is none of these.
var nonsense = map[Attribute][]string{
	Affinity: {"", "x", "3-1", "-1"},
	Memory:   {"x:1", "1:x", "-1:5", "cpus x", "0:1 1"},
	Nice:     {"", "-21", "20", "five", "1.5", "99999999999999999999"},
	Slice:    {"", "3", "x", "99us", "101ms", "-3ms"},
	Clamp:    {"", "512", "600,500", "0,1025", "-1,5", "0,101%", "x,5", "0,1,2"},
	IOPrio:   {"", "fast", "be:8", "be:-1", "be:x", "be:", "idle:1", "none:0", "4", "rt:0:1"},
	CoreCookie: {
		"", "0", "x", "of", "of 0", "of -5", "of x", "0x10000000000000000",
	},
	Policy: {
		"", "fast", "fifo:0", "fifo:100", "fifo:-1", "fifo:+5", "+5", "fifo:x", "fifo:", "other:1", "idle:5", "fifo:10,reset", "fifo:10,",
		"deadline", "deadline:1ms/20ms", "deadline:1/2/3", "deadline:1us/20ms/20ms", "deadline:30ms/20ms/20ms",
		"deadline:1ms/30ms/20ms", "deadline:x/1ms/1ms", "0", "100", "5,x", "rr:1:2",
		"rr,reclaim", "5,reclaim", "deadline:1ms/2ms/2ms,reset-on-fork,", "fifo,",
	},
	Weight: {"", "0", "0.1", "-5", "25601", "x", "1e9", "NaN"},
	Quota: {
		"", "0", "-5%", "max", "20% burst", "20% burst x", "20% burst -1ms", "20% burst 5", "20% period 2s", "20% period 100us", "20% bursts 5ms",
		"20% burst 1ns", "NaN", "inf",
	},
	IRQAffinity: {"", "x"},
	RPSFlows:    {"", "-1", "x", "9999999999"},
	Sysctl:      {"1\n2", "\x00"},
	"novel":     {"", "1"},
}

func TestNotations(t *testing.T) {
	for a, texts := range notations {
		for text, want := range texts {
			v, err := a.Parse(text)
			require.NoError(t, err, "%s %q", a, text)
			assert.Equal(t, want, v.String(), "%s %q", a, text)
		}
	}
	var usage UsageError
	for a, texts := range nonsense {
		for _, text := range texts {
			_, err := a.Parse(text)
			require.ErrorAs(t, err, &usage, "%s %q", a, text)
		}
	}
}

// FuzzNotations: what a value is written as is read as that value.
func FuzzNotations(f *testing.F) {
	for a, texts := range notations {
		for text := range texts {
			f.Add(string(a), text)
		}
	}
	f.Fuzz(func(t *testing.T, attribute, text string) {
		for _, a := range append(All(), Attribute(attribute)) {
			v, err := a.Parse(text)
			if err != nil {
				var usage UsageError
				require.ErrorAs(t, err, &usage, "%s %q", a, text)
				continue
			}
			again, err := a.Parse(v.String())
			require.NoError(t, err, "%s %q", a, v)
			require.Equal(t, v, again, "%s %q", a, text)
			require.True(t, a.Alike(v, again))
		}
	})
}

func TestDeadlineCanBeRestored(t *testing.T) {
	was := kernel.SchedAttr{Policy: kernel.Deadline, RuntimeNs: 1_500_000, DeadlineNs: 20e6, PeriodNs: 1e9, ResetOnFork: true, Reclaim: true}
	got, err := Policy.Parse(policyOf(was).String())
	require.NoError(t, err)
	assert.Equal(t, was, PolicyOf(got).attr())
}

func TestPoliciesThatCrowd(t *testing.T) {
	for text, crowds := range map[string]bool{
		"fifo:1": true, "rr:1": true, "other": false, "idle": false, "ext": false,
		"deadline:5ms/10ms/10ms": false, "deadline:9ms/10ms/10ms": true, "deadline:1ms/10ms/10ms,reclaim": true,
	} {
		p, err := Policy.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, crowds, PolicyOf(p).Crowds(), text)
	}
}

func TestSettingsTakeTypedValues(t *testing.T) {
	for want, s := range map[string]Setting{
		"affinity 1":           SetAffinity(cpuset.Of(1)),
		"nice 5":               SetNice(5),
		"autogroup 5":          {Autogroup, NiceValue(5)},
		"policy FIFO:9":        SetPolicy(PolicyValue{Policy: kernel.FIFO, RTPrio: 9}),
		"ioprio best-effort:1": SetIOPrio(kernel.IOPrio{Class: kernel.IOBestEffort, Level: 1}),
		"slice 3ms":            SetSlice(3 * time.Millisecond),
		"uclamp default":       {Clamp, ClampValue{Reset: true}},
		"cookie of 7":          SetCookie(CookieValue{From: 7}),
		"memory cpus 2":        SetMemoryNear(cpuset.Of(2)),
	} {
		assert.Equal(t, want, string(s.Attribute)+" "+s.Value.String())
		v, err := s.Attribute.Parse(s.Value.String())
		require.NoError(t, err, want)
		assert.Equal(t, s.Value, v, want)
	}
}

// A journal of a later piton may have attributes that this one does not know.
func TestUnknownAttributes(t *testing.T) {
	const novel = Attribute("novel")
	m := NewMachine(Sources{})
	assert.False(t, novel.Known() || novel.OfFile() || novel.OfProcess())
	assert.Nil(t, novel.Command())
	for _, a := range All() {
		assert.False(t, a.OfProcess() && !a.OfGroup() && a.Command() != nil, "%s: piton run sets its own thread, and could not set that of a process", a)
	}
	assert.Equal(t, "novel x", novel.Words(Opaque("x")))
	assert.True(t, novel.Alike(Opaque("x"), Opaque("x")))
	c := Change{Attribute: novel, After: Opaque("x"), Status: Planned}
	for _, o := range []Object{{PID: 1, TID: 1}, {Path: "/proc/novel"}} {
		c.Object = o
		_, err := m.Read(novel, o)
		assert.ErrorContains(t, err, `"novel"`)
		err = Write{Machine: m, Change: c}.Set()
		require.ErrorContains(t, err, `"novel"`)
		assert.Equal(t, err, m.Mark(c, err))
		assert.Contains(t, m.Explain(c, err), `"novel"`)
	}
}

// An attribute of tasks is never read of or written to a file, nor the other way.
func TestAttributesAreOfTheirObjects(t *testing.T) {
	m := NewMachine(Sources{})
	for _, c := range []Change{
		{Object: Object{Path: "/proc/irq/24/smp_affinity_list"}, Attribute: Affinity, After: cpuset.Of(0)},
		{Object: Object{PID: 1, TID: 1}, Attribute: IRQAffinity, After: cpuset.Of(0)},
	} {
		var usage UsageError
		_, err := m.Read(c.Attribute, c.Object)
		require.ErrorAs(t, err, &usage)
		require.ErrorAs(t, Write{Machine: m, Change: c}.Set(), &usage)
	}
}
