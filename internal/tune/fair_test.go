package tune

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func TestParseSlice(t *testing.T) {
	for text, want := range map[string]string{
		"3ms": "3ms", "500us": "500µs", "0": "default", "default": "default", "100ms": "100ms", "0.1ms": "100µs", " 2.5ms ": "2.5ms",
	} {
		d, err := ParseSlice(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, formatSlice(d), text)
	}
	for _, text := range []string{"", "3", "x", "99us", "101ms", "-3ms"} {
		_, err := ParseSlice(text)
		var usage UsageError
		assert.ErrorAs(t, err, &usage, text)
	}
}

func TestParseClamp(t *testing.T) {
	for text, want := range map[string]string{
		"0,512": "0,512", "20%,80%": "204,819", "0%,100%": "0,1024", "default": "default", " 5 , 5 ": "5,5",
	} {
		s, err := ParseClamp(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, s.String(), text)
	}
	for _, text := range []string{"", "512", "600,500", "0,1025", "-1,5", "0,101%", "x,5", "0,1,2"} {
		_, err := ParseClamp(text)
		var usage UsageError
		assert.ErrorAs(t, err, &usage, text)
	}
}

func FuzzParseClamp(f *testing.F) {
	f.Add("20%,80%")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseClamp(text)
		if err != nil {
			return
		}
		again, err := ParseClamp(s.String())
		require.NoError(t, err)
		assert.Equal(t, s, again)
	})
}

func FuzzParseSlice(f *testing.F) {
	f.Add("3ms")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseSlice(text)
		if err != nil {
			return
		}
		again, err := ParseSlice(formatSlice(d))
		require.NoError(t, err)
		assert.Equal(t, d, again)
	})
}

func sliced(d time.Duration) Settings { return Settings{Slice: &d} }

// The undo of a slice that was never set writes 0 and not the length that was read.
func TestUndoOfASliceIsTheDefault(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{Journal: openJournal(t)})
	result := apply(t, tuner, []Request{{Targets: []Target{{TID: 10}}, Settings: sliced(3 * time.Millisecond)}})
	assert.Equal(t, []string{"slice default to 3ms: done"}, outcome(result.Changes))
	undo(t, tuner, UndoRequest{Last: 1})
	assert.Equal(t, []string{"SetSlice(10, 3000000)", "SetSlice(10, 0)"}, m.Calls())

	base := sliced(2800 * time.Microsecond) // as long as the default
	result = apply(t, tuner, []Request{{Targets: []Target{{TID: 10}}, Settings: base}})
	assert.Equal(t, []string{"slice default to default: unchanged"}, outcome(result.Changes))
}

func TestSliceOfARealTimeTask(t *testing.T) {
	m := newMachine(t)
	m.spawnAs(10, 10, kerneltest.Task{Affinity: cpuset.Of(0), Attr: kernel.SchedAttr{Policy: kernel.FIFO, RTPrio: 5}})
	plan := planFor(t, m.tuner(Options{}), sliced(time.Millisecond), 10)
	assert.Equal(t, Refused, plan.Changes[0].Status)
	assert.Equal(t, "its policy is FIFO, and only OTHER and BATCH tasks have a slice", plan.Changes[0].Reason)
}

func TestClampAndItsUndo(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawnAs(20, 20, kerneltest.Task{Affinity: cpuset.Of(0), Attr: kernel.SchedAttr{Policy: kernel.FIFO, RTPrio: 5}})
	tuner := m.tuner(Options{Journal: openJournal(t)})
	half := Settings{Clamp: &ClampSetting{Clamp: kernel.Clamp{Min: 0, Max: 512}}}
	result := apply(t, tuner, []Request{{Targets: []Target{{TID: 10}}, Settings: half}})
	assert.Equal(t, []string{"uclamp 0,1024 to 0,512: done"}, outcome(result.Changes))
	undo(t, tuner, UndoRequest{Last: 1})
	assert.Equal(t, []string{"SetClamp(10, 0,512,false)", "SetClamp(10, 0,1024,true)"}, m.Calls(), "given back to the kernel")

	reset := Settings{Clamp: &ClampSetting{Reset: true}}
	plan := planFor(t, tuner, reset, 10, 20)
	assert.Equal(t, []string{"uclamp 0,1024 to 0,1024: unchanged", "uclamp 1024,1024 to 0,1024: planned"}, outcome(plan.Changes),
		"the sysctl of the fake machine says 0 for real time")
}

func TestAbsentFromThisKernel(t *testing.T) {
	for _, tt := range []struct {
		method string
		errno  syscall.Errno
		set    Settings
		reason string
	}{
		{"Clamp", syscall.EOPNOTSUPP, Settings{Clamp: &ClampSetting{}}, "this kernel is built without utilisation clamps (CONFIG_UCLAMP_TASK)"},
		{"Cookie", syscall.EINVAL, Settings{Cookie: &CookieSetting{New: true}}, "this kernel is built without core scheduling (CONFIG_SCHED_CORE)"},
		{"Cookie", syscall.ENODEV, Settings{Cookie: &CookieSetting{}}, "core scheduling is for machines with SMT, and this one has none or has it switched off"},
		{"SetPolicy", syscall.EINVAL, Settings{Policy: &PolicySetting{Policy: kernel.Ext}}, "this kernel is built without sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12)"},
	} {
		m := newMachine(t)
		m.spawn(10, 10)
		m.Fail(tt.method, 10, tt.errno)
		c := apply(t, m.tuner(Options{}), []Request{{Targets: []Target{{TID: 10}}, Settings: tt.set}}).Changes[0]
		assert.Equal(t, tt.reason, c.Reason)
		assert.ErrorIs(t, c.Err, ErrNotSupported)
	}
}

func TestCookies(t *testing.T) {
	m := newMachine(t)
	for _, tid := range []kernel.TID{10, 11} {
		m.spawn(10, tid)
	}
	m.spawn(20, 20)
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	set := func(s CookieSetting, tids ...kernel.TID) Result {
		r := Request{Settings: Settings{Cookie: &s}}
		for _, tid := range tids {
			r.Targets = append(r.Targets, Target{TID: tid})
		}
		return apply(t, tuner, []Request{r})
	}
	result := set(CookieSetting{New: true}, 10)
	assert.Equal(t, []string{"cookie none to 0xc0de0001: done", "cookie none to 0xc0de0001: done"}, outcome(result.Changes), "one for all")
	result = set(CookieSetting{From: 10}, 20)
	assert.Equal(t, []string{"cookie none to 0xc0de0001: done"}, outcome(result.Changes))

	m.spawn(1, 1)
	later := m.tuner(Options{Journal: j}) // another piton, which holds no cookie
	result = undo(t, later, UndoRequest{All: true})
	require.Equal(t, 3, result.Count(Done), "%+v", result.Changes)
	for _, tid := range []kernel.TID{10, 11, 20} {
		assert.Zero(t, m.Task(tid).Cookie)
	}
	result = set(CookieSetting{From: 10}, 20)
	assert.Equal(t, "10 has no cookie to share", result.Changes[0].Reason)
}

func TestBarePriorityKeepsThePolicy(t *testing.T) {
	m := newMachine(t)
	m.spawnAs(10, 10, kerneltest.Task{Attr: kernel.SchedAttr{Policy: kernel.RR, RTPrio: 5, ResetOnFork: true}})
	m.spawn(20, 20)
	setting, err := ParsePolicy("30")
	require.NoError(t, err)
	plan := planFor(t, m.tuner(Options{}), Settings{Policy: &setting}, 10, 20)
	assert.Equal(t, []string{"policy RR:5,reset-on-fork to RR:30,reset-on-fork: planned", "policy OTHER to 30: refused"}, outcome(plan.Changes))
	assert.Equal(t, "its policy is OTHER, which has no real-time priority: say fifo:30 or rr:30", plan.Changes[1].Reason)
}

func TestDeadlineIsCautioned(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	setting, err := ParsePolicy("deadline:5ms/10ms/10ms")
	require.NoError(t, err)
	plan := planFor(t, m.tuner(Options{}), Settings{Policy: &setting}, 10)
	assert.Equal(t, []string{"10 (job) cannot create threads or processes while it is DEADLINE (they fail with EAGAIN); add ,reset-on-fork to let it create ordinary ones"}, plan.Warnings)
	setting.ResetOnFork = true
	assert.Empty(t, planFor(t, m.tuner(Options{}), Settings{Policy: &setting}, 10).Warnings)
	m.write("sys/kernel/sched_ext/state", "disabled\n")
	plan = planFor(t, m.tuner(Options{}), Settings{Policy: &PolicySetting{Policy: kernel.Ext}}, 10)
	assert.Equal(t, []string{"no sched_ext scheduler is loaded: until one is, EXT tasks are run as OTHER ones"}, plan.Warnings)
}
