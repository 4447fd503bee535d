package recordcmd

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cli/flags"
	"piton/internal/cli/watchcmd"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/record"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// span and interval of the run that is recorded and printed at once.
const (
	ticks    = 8
	interval = 100 * time.Millisecond
)

// TestReplayIsWhatWasLive records a machine on which things happen, and holds each line of its
// replay to that of the live samples: every column, each format.
func TestReplayIsWhatWasLive(t *testing.T) {
	busy := exec.Command("sh", "-c", "while :; do /bin/true; done")
	require.NoError(t, busy.Start())
	defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
	a := &app.App{HostRoot: "/", Source: flags.Choice{Value: app.SourceAuto}}
	topo, err := a.Topology()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "live.piton")
	f := &files{path: path, options: record.Options{Topology: topo}}
	require.NoError(t, f.next(time.Now()))
	var live []*sample.Sample
	require.NoError(t, a.Samples(t.Context(), interval, needs(), sample.EBPFNow, func(s *sample.Sample) (bool, error) {
		live = append(live, s)
		return len(live) < ticks, f.write(s)
	}))
	require.NoError(t, f.close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())

	var every []string
	for _, c := range field.Columns {
		every = append(every, c.ID)
	}
	all := "--columns=" + strings.Join(every, ",")
	for _, args := range [][]string{{"-o", "json", all}, {"-o", "csv", all}, {}, {"--filter", "mig>0", "--sort", "comm"}} {
		want := printed(t, args, func(ctx context.Context, _ sample.Needs, _ sample.EBPF, on app.OnSample) error {
			return feed(live, topo, on)
		})
		got := replayed(t, path, "", args)
		require.Equal(t, want, got, args)
		assert.Greater(t, len(want), 500, args)
	}
	// From a time on, histories are those of the whole record.
	tail := printed(t, []string{"-o", "json"}, func(ctx context.Context, _ sample.Needs, _ sample.EBPF, on app.OnSample) error {
		return feed(live, topo, func(m *model.Model) (bool, error) {
			if m.Sample.Seq < live[5].Seq {
				return true, nil
			}
			return on(m)
		})
	})
	assert.Equal(t, tail, replayed(t, path, live[5].Wall.Format(time.RFC3339Nano), []string{"-o", "json"}))
}

// feed calls on with the models of samples.
func feed(samples []*sample.Sample, topo *topology.Topology, on app.OnSample) error {
	var m *model.Model
	for _, s := range samples {
		m = model.Next(m, s, topo)
		if more, err := on(m); err != nil || !more {
			return err
		}
	}
	return nil
}

func monitor(t *testing.T, args []string) watchcmd.Monitor {
	t.Helper()
	o := watchcmd.NewMonitor()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddReplayFlags(fs)
	require.NoError(t, fs.Parse(args))
	return o
}

func printed(t *testing.T, args []string, samples watchcmd.Samples) string {
	t.Helper()
	var out bytes.Buffer
	o := monitor(t, args)
	a := &app.App{IO: app.IO{Out: &out, Err: &out}}
	require.NoError(t, o.Print(t.Context(), a, samples))
	return out.String()
}

func replayed(t *testing.T, path, at string, args []string) string {
	t.Helper()
	var out bytes.Buffer
	o := replayOptions{monitor: monitor(t, args), at: at}
	require.NoError(t, runReplay(t.Context(), &app.App{IO: app.IO{Out: &out, Err: &out}}, path, &o))
	return out.String()
}

var began = time.Date(2026, 11, 29, 23, 59, 30, 0, time.FixedZone("", 3600))

// at is a sample so many seconds after the first one.
func at(seconds int) *sample.Sample {
	id := &sample.Identity{Comm: "web"}
	return &sample.Sample{Seq: uint64(seconds + 1), Wall: began.Add(time.Duration(seconds) * time.Second), At: time.Duration(seconds) * time.Second,
		Host: sample.Host{Name: "db-3"}, Tasks: []*sample.Task{{TID: 7, TGID: 7, State: 'S', ID: id}}}
}

func recording(t *testing.T, f *files, from time.Time, seconds int) {
	t.Helper()
	f.options.Topology = topologytest.Sized(2)
	require.NoError(t, f.next(from))
	for i := range seconds {
		s := at(i)
		s.Wall = from.Add(s.At)
		require.NoError(t, f.write(s))
	}
	require.NoError(t, f.close())
}

// times are those that a replay prints.
func times(t *testing.T, path, from string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(replayed(t, path, from, nil)) {
		if word, _, found := strings.Cut(line, " db-3 up"); found {
			all = append(all, word)
		}
	}
	return strings.Join(all, " ")
}

func TestReplayAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.piton")
	recording(t, &files{path: path}, began, 200)
	for from, first := range map[string]string{"": "23:59:31", "23:59:58": "23:59:58", "23:59": "23:59:31", "00:01:40": "00:01:40", "00:02": "00:02:00",
		"2026-11-30 00:00": "00:00:00", "2026-11-29T23:00:00Z": "00:00:00"} {
		assert.True(t, strings.HasPrefix(times(t, path, from), first), from)
	}
	for from, want := range map[string]string{"03:12": "no sample from 2026-11-30 03:12:00 on: it is from 2026-11-29 23:59:30 to 2026-11-30 00:02:49", "3": "it must be a time"} {
		err := runReplay(t.Context(), &app.App{}, path, &replayOptions{at: from, monitor: monitor(t, nil)})
		assert.ErrorContains(t, err, want, from)
	}
	assert.Contains(t, printed(t, []string{"-n", "2"}, func(ctx context.Context, _ sample.Needs, _ sample.EBPF, on app.OnSample) error {
		tape, err := open(path)
		require.NoError(t, err)
		defer tape.close()
		return tape.play(ctx, time.Time{}, on)
	}), "23:59:32")
}

// A row is played as one record, and what is no longer kept is deleted whole.
func TestRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.piton")
	f := &files{path: path, keep: time.Hour}
	now := time.Now().In(began.Location()).Truncate(time.Second) // files are as old as their last write
	recording(t, f, now, 400)
	row, err := rowOf(path)
	require.NoError(t, err)
	require.Len(t, row, 3, "of 150 s each, a 24th of what is kept")
	assert.Equal(t, path+now.UTC().Format(".20060102-150405"), row[0])
	assert.Equal(t, 399, strings.Count(times(t, path, ""), " ")+1, "no sample between two files is without rates")
	late := now.Add(5 * time.Minute).Format(time.DateTime)
	assert.True(t, strings.HasPrefix(times(t, path, late), late[11:]+" "))

	for _, empty := range []string{".20200101-000000", ".20990101-000000"} { // of a recorder that was killed at once
		require.NoError(t, os.WriteFile(path+empty, nil, 0o600))
	}
	assert.Equal(t, 399, strings.Count(times(t, path, ""), " ")+1)
	for _, empty := range []string{".20200101-000000", ".20990101-000000"} {
		require.NoError(t, os.Remove(path+empty))
	}

	other := path + ".old" // not one of the row
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	long := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(row[0], long, long))
	require.NoError(t, f.forget(time.Now()))
	left, err := rowOf(path)
	require.NoError(t, err)
	assert.Equal(t, row[1:], left)
	assert.FileExists(t, other)

	info, err := os.Stat(row[2])
	require.NoError(t, err)
	f = &files{path: path, most: info.Size() * 2}
	require.NoError(t, f.forget(time.Now()))
	left, err = rowOf(path)
	require.NoError(t, err)
	assert.Equal(t, row[2:], left)
}

// A full disk ends the recording with a sentence, and what was written is read.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.piton")
	f := &files{path: path, options: record.Options{Topology: topologytest.Sized(2)}}
	require.NoError(t, f.next(time.Now()))
	require.NoError(t, f.write(at(0)))
	require.NoError(t, f.write(at(1)))
	whole := f.file
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	f.file = full
	err = f.write(at(2))
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.ErrorContains(t, err, "recording ended after 2 samples, which are kept: write /dev/full: no space left on device")
	require.NoError(t, f.close())
	require.NoError(t, whole.Close())
	assert.Equal(t, "23:59:31", times(t, path, ""))
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1M": 1 << 20, "500M": 500 << 20, "2G": 2 << 30, "": 0, "M": 0, "5": 0, "0M": 0, "-1G": 0, "1k": 0, "1MM": 0, "99999999999G": 0} {
		var s size
		assert.Equal(t, want == 0, s.Set(text) != nil, text)
		assert.Equal(t, want, int64(s), text)
	}
}
