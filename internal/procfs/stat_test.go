package procfs

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

const statTail = " S 1 2 3 4 -1 4194560 10 11 12 13 14 15 16 17 20 -5 3 0 25 50569216 4575 18446744073709551615 " +
	"1 1 0 0 0 0 0 4096 1256 0 0 0 17 1 50 2 0 0 0 0 0 0 0 0 0 0 0\n"

func TestParseStat(t *testing.T) {
	full := Stat{
		TID: 7, Comm: []byte("cat"), State: 'S', PPID: 1, Group: 2, Session: 3, Flags: 4194560, MinorFaults: 10, MajorFaults: 12,
		UserTicks: 14, SystemTicks: 15, Priority: 20, Nice: -5, Threads: 3, StartTicks: 25, RSSPages: 4575,
		LastCPU: 1, RTPrio: 50, Policy: kernel.RR,
	}
	for _, tc := range []struct {
		name, in, comm string
		wantErr        bool
	}{
		{name: "plain", in: "7 (cat)" + statTail, comm: "cat"},
		{name: "closing bracket and blank in the name", in: "7 (a) (b) S)" + statTail, comm: "a) (b) S"},
		{name: "newline in the name", in: "7 (a\nb)" + statTail, comm: "a\nb"},
		{name: "escape bytes in the name", in: "7 (\x1b[31m\x07\xff)" + statTail, comm: "\x1b[31m\x07\xff"},
		{name: "empty name", in: "7 ()" + statTail, comm: ""},
		{name: "kernel thread, long name", in: "7 (kworker/u8:2-events_unbound)" + statTail, comm: "kworker/u8:2-events_unbound"},
		{name: "empty", in: "", wantErr: true},
		{name: "no name", in: "7 cat" + statTail, wantErr: true},
		{name: "cut short", in: "7 (cat) S 1 2 3", wantErr: true},
		{name: "cut after the time", in: "7 (cat) S 1 2 3 4 -1 4194560 10 11 12 13 14 15", wantErr: true},
		{name: "negative time", in: "7 (cat)" + strings.Replace(statTail, " 14 15 ", " -14 15 ", 1), wantErr: true},
		{name: "brackets swapped", in: "7 )cat(" + statTail, wantErr: true},
		{name: "long state", in: "7 (cat) SS 1 2", wantErr: true},
		{name: "number too large", in: "99999999999 (cat)" + statTail, wantErr: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var st Stat
			err := ParseStat([]byte(tc.in), &st)
			if tc.wantErr {
				require.ErrorIs(t, err, ErrCut)
				assert.Equal(t, Stat{Comm: st.Comm}, st)
				return
			}
			require.NoError(t, err)
			want := full
			want.Comm = []byte(tc.comm)
			assert.Equal(t, want, st)
		})
	}
}

// A thread that is being released has lost its session and process group.
func TestParseStatOfAnEndingThread(t *testing.T) {
	var st Stat
	require.NoError(t, ParseStat([]byte("7 (cat) X 0 -1 -1 0 -1 4194380 3 0 0 0 0 0 0 0 20 0 0 0 25 0 0 18446744073709551615 "+
		"0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"), &st))
	assert.Equal(t, byte('X'), st.State)
	assert.Equal(t, kernel.TID(-1), st.Session)
	assert.Equal(t, uint64(25), st.StartTicks)
}

func TestParseStatAllocatesNothing(t *testing.T) {
	in := []byte("7 (cat)" + statTail)
	var st Stat
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = ParseStat(in, &st) }))
}

func TestStatOfThisProcess(t *testing.T) {
	fs := New("/")
	if !exists(fs.Path("self")) {
		t.Skip("no /proc here")
	}
	pid := kernel.TID(os.Getpid())
	st, err := fs.Stat(pid)
	require.NoError(t, err)
	assert.Equal(t, pid, st.TID)
	assert.Equal(t, kernel.TID(os.Getppid()), st.PPID)
	assert.NotZero(t, st.StartTicks)

	tids, err := fs.Threads(pid)
	require.NoError(t, err)
	require.Contains(t, tids, pid)
	th, err := fs.ThreadStat(pid, pid)
	require.NoError(t, err)
	assert.Equal(t, st.StartTicks, th.StartTicks)
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (cat)" + statTail))
	f.Add([]byte("7 (a) (b\n)" + statTail))
	f.Add([]byte("7 (cat) S"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var st Stat
		if ParseStat(b, &st) != nil {
			return
		}
		assert.True(t, st.Nice >= -20 && st.Nice <= 19)
		assert.True(t, st.TID >= 0 && st.Threads >= 0 && st.RTPrio <= 99)
		assert.LessOrEqual(t, len(st.Comm), len(b))
	})
}
