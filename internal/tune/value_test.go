package tune

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func TestParsePolicy(t *testing.T) {
	tests := map[string]string{
		"other": "OTHER", "normal": "OTHER", "SCHED_BATCH": "BATCH", "Idle": "IDLE", " rr ": "RR:1",
		"fifo": "FIFO:1", "fifo:10": "FIFO:10", "RR:99": "RR:99",
		"fifo:10,reset-on-fork": "FIFO:10,reset-on-fork", "other,RESET-ON-FORK": "OTHER,reset-on-fork",
		"ext": "EXT", "deadline:1ms/2ms/3ms,Reclaim,reset-on-fork": "DEADLINE:1ms/2ms/3ms,reset-on-fork,reclaim",
	}
	for text, want := range tests {
		got, err := ParsePolicy(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got.String(), text)
		again, err := ParsePolicy(got.String())
		require.NoError(t, err)
		assert.Equal(t, got, again)
	}
	for _, text := range []string{
		"", "fast", "fifo:0", "fifo:100", "fifo:-1", "fifo:x", "fifo:", "other:1", "idle:5", "fifo:10,reset", "fifo:10,",
		"deadline", "deadline:1ms/20ms", "deadline:1/2/3", "deadline:1us/20ms/20ms", "deadline:30ms/20ms/20ms",
		"deadline:1ms/30ms/20ms", "deadline:x/1ms/1ms", "0", "100", "5,x", "rr:1:2",
		"rr,reclaim", "5,reclaim", "deadline:1ms/2ms/2ms,reset-on-fork,", "fifo,",
	} {
		_, err := ParsePolicy(text)
		var usage UsageError
		require.ErrorAs(t, err, &usage, "%q", text)
	}
}

func TestDeadlineCanBeRestored(t *testing.T) {
	was := kernel.SchedAttr{Policy: kernel.Deadline, RuntimeNs: 1_500_000, DeadlineNs: 20e6, PeriodNs: 1e9, ResetOnFork: true, Reclaim: true}
	got, err := parsePolicy(formatPolicy(was))
	require.NoError(t, err)
	assert.Equal(t, was, got)
}

func TestParseIOPrio(t *testing.T) {
	tests := map[string]string{
		"none": "none", "idle": "idle", "3": "idle", "0": "none", "be": "best-effort:4", "best-effort:0": "best-effort:0",
		"2:7": "best-effort:7", "rt:0": "real-time:0", "REALTIME": "real-time:4", "real-time:7": "real-time:7",
	}
	for text, want := range tests {
		got, err := ParseIOPrio(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, FormatIOPrio(got), text)
		again, err := ParseIOPrio(FormatIOPrio(got))
		require.NoError(t, err)
		assert.Equal(t, got, again)
	}
	for _, text := range []string{"", "fast", "be:8", "be:-1", "be:x", "be:", "idle:1", "none:0", "4", "rt:0:1"} {
		_, err := ParseIOPrio(text)
		var usage UsageError
		require.ErrorAs(t, err, &usage, "%q", text)
	}
}

func TestParseNice(t *testing.T) {
	for text, want := range map[string]int{"-20": -20, "19": 19, "+3": 3, " 0 ": 0} {
		got, err := ParseNice(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "-21", "20", "five", "1.5", "99999999999999999999"} {
		_, err := ParseNice(text)
		var usage UsageError
		require.ErrorAs(t, err, &usage, "%q", text)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	nice, empty := 20, cpuset.Set{}
	for name, s := range map[string]Settings{
		"nothing":         {},
		"nice":            {Nice: &nice},
		"no CPUs":         {Affinity: &empty},
		"FIFO without":    {Policy: &PolicySetting{Policy: kernel.FIFO}},
		"FIFO too high":   {Policy: &PolicySetting{Policy: kernel.FIFO, RTPrio: 100}},
		"OTHER with":      {Policy: &PolicySetting{RTPrio: 5}},
		"DEADLINE":        {Policy: &PolicySetting{Policy: kernel.Deadline}},
		"I/O level":       {IOPrio: &kernel.IOPrio{Class: kernel.IOBestEffort, Level: 8}},
		"I/O idle level":  {IOPrio: &kernel.IOPrio{Class: kernel.IOIdle, Level: 1}},
		"I/O class":       {IOPrio: &kernel.IOPrio{Class: 4}},
		"I/O below level": {IOPrio: &kernel.IOPrio{Class: kernel.IORealTime, Level: -1}},
	} {
		_, err := s.list()
		var usage UsageError
		require.ErrorAs(t, err, &usage, name)
	}
}

func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{"fifo:10", "other", "rr", "fifo:10,reset-on-fork", "SCHED_IDLE", "deadline:1ms/2ms/3ms", ":", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		attr, err := parsePolicy(text)
		if err != nil {
			return
		}
		again, err := parsePolicy(formatPolicy(attr))
		require.NoError(t, err)
		assert.Equal(t, attr, again)
	})
}

func FuzzParseIOPrio(f *testing.F) {
	for _, s := range []string{"be:4", "rt", "idle", "none", "2:7", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		prio, err := ParseIOPrio(text)
		if err != nil {
			return
		}
		again, err := ParseIOPrio(FormatIOPrio(prio))
		require.NoError(t, err)
		assert.Equal(t, prio, again)
	})
}

func FuzzParseNice(f *testing.F) {
	for _, s := range []string{"-20", "19", "+3", "", "x", "20"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := ParseNice(text); err == nil && (n < -20 || n > 19) {
			t.Fatalf("%q gave %d", text, n)
		}
	})
}
