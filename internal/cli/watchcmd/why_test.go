package watchcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/watch"
	"piton/internal/why"
	"piton/internal/why/page"
	"piton/internal/why/session"
	"piton/internal/why/whytest"
)

const narrow = ` WHY nginx, 5 threads in web.service
 10 s, exact (eBPF), 0 events lost, cost 0.3 % of a CPU
 NEIGHBOUR  build.slice (cc1, 2 processes) took 62 % of its waiting.
 LIMIT      the cause of its 41 longest waits is the CPU limit of web.slice
            (50 % of a CPU).
 ran ███████▋ 38 %   waited ████▎ 21 % = 210 ms/s a thread   slept ▒▒▒▒▒▒▒▒ 41 %
 8,361 waits: p50 983 µs, p95 1.97 ms, p99 2.88 ms, p99.9 23.1 ms, max 31 ms
 1µs ·····▂▆▁··▆▇▁▁▁▁ 32.8ms   woken 74 %, preempted 26 %
 WAITED FOR                               SHARE              ms/s  WAITS      p99
`

func TestWhyText(t *testing.T) {
	w := whyAnswer{Answer: why.Explain(whytest.Observation(), whytest.Target())}
	for _, width := range []int{40, 80, 120, 200} {
		text := w.text(page.Look{Width: width})
		for line := range strings.Lines(text) {
			if width > 40 { // a table cannot be as narrow
				assert.LessOrEqual(t, field.Width([]byte(strings.TrimSuffix(line, "\n"))), width, line)
			}
		}
		for _, command := range []string{"piton weight cgroup:build.slice 20", "piton quota cgroup:web.slice 50% --burst 31ms", "piton irq move 132 --cpu 0-3"} {
			assert.Contains(t, strings.Join(strings.Fields(text), " "), command, width)
		}
		assert.Equal(t, width >= 120, strings.Contains(text, "WHAT HELPS"), width)
		assert.Equal(t, width >= 200, strings.Contains(text, "MAX"), width)
	}
	assert.Contains(t, w.text(page.Look{Width: 80}), narrow[:strings.Index(narrow, " WAITED")])
	ascii := w.text(page.Look{Width: 120, ASCII: true})
	assert.Negative(t, strings.IndexFunc(ascii, func(r rune) bool { return r > 0x7e }), ascii)
}

func TestWhyTextOfFiles(t *testing.T) {
	g := whytest.Target()
	g.Lacking = "it needs eBPF"
	w := whyAnswer{Answer: why.Explain(why.Observation{Span: 10 * time.Second, Threads: 5, Ran: 19 * time.Second, Waited: 10500 * time.Millisecond}, g)}
	assert.Equal(t, ` WHY   nginx, 5 threads in web.service                                                                  10 s, from /proc
 UNKNOWN    it waited 21 % of the time; what for is not known: it needs eBPF
 ran ██████████▋ 38 %   waited █████▉ 21 % = 210 ms/s a thread   slept ▒▒▒▒▒▒▒▒▒▒▒ 41 %
 8,412 waits of 1.25 ms on average   some task of its group waited 20 % of the time (PSI, throttling included)
 tightest limit: 50 % of a CPU, of /web.slice
 WAITED FOR                               WHAT HELPS
 limit      web.slice, 41 of 100 periods  piton quota cgroup:web.slice 50% --burst 1ms
`, w.text(page.Look{Width: 120}))
	var line map[string]any
	require.NoError(t, json.Unmarshal(waitList.Append(nil, page.Rows(w.Answer, page.Look{}, 0)[0]), &line))
	assert.Nil(t, line["ns"])
	assert.EqualValues(t, 41, line["throttled_periods"])
	assert.Equal(t, []any{"piton", "quota", "cgroup:web.slice", "50%", "--burst", "1ms"}, line["remedy"])
}

func TestWhyLines(t *testing.T) {
	w := whyAnswer{Answer: why.Explain(whytest.Observation(), whytest.Target())}
	sum, percent := 0.0, 0.0
	for _, r := range page.Rows(w.Answer, page.Look{}, 0) {
		var line map[string]any
		require.NoError(t, json.Unmarshal(waitList.Append(nil, r), &line))
		sum, percent = sum+line["ns"].(float64), percent+line["share"].(float64)
	}
	var last map[string]any
	require.NoError(t, json.Unmarshal(whyList.Append(nil, w), &last))
	assert.Equal(t, last["waited_ns"], sum)
	assert.InDelta(t, 1, percent, 0.001)
	assert.Equal(t, "NEIGHBOUR", last["verdict"])
	assert.Equal(t, "LIMIT", last["longest_verdict"])
	assert.Len(t, last["bins"], len(why.Bins{}))
	assert.EqualValues(t, 28_400_000, last["max_parts"].(map[string]any)["limit of web.slice"])
}

// madeUp is a source of one answer.
type madeUp struct {
	why.Observation
	closed bool
}

func (m *madeUp) Read() (why.Observation, error) { return m.Observation, nil }
func (m *madeUp) Close()                         { m.closed = true }

func TestObserveEndsWithItsTarget(t *testing.T) {
	source := &madeUp{Observation: whytest.Observation()}
	defer func(was func(watch.Targets) (session.Source, error)) { session.OpenSource = was }(session.OpenSource)
	session.OpenSource = func(watch.Targets) (session.Source, error) { return source, nil }
	cmd := exec.Command("sleep", "0.3")
	require.NoError(t, cmd.Start())
	go func() { _ = cmd.Wait() }()
	seen, target, err := observe(context.Background(), procfs.New("/"), time.Hour, watch.Targets{IDs: []kernel.TID{kernel.TID(cmd.Process.Pid)}})
	require.NoError(t, err)
	assert.True(t, source.closed)
	assert.Equal(t, source.Observation, seen)
	assert.Empty(t, target.Lacking)

	session.OpenSource = func(watch.Targets) (session.Source, error) { return nil, errors.New("it needs CAP_BPF") }
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	seen, target, err = observe(ctx, procfs.New("/"), time.Hour, watch.Targets{IDs: []kernel.TID{kernel.TID(os.Getpid())}})
	require.NoError(t, err)
	assert.Equal(t, "it needs CAP_BPF", target.Lacking)
	assert.Positive(t, seen.Threads)
	assert.Positive(t, seen.Span)
}

func TestBlameText(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{IO: app.IO{Out: &out}}
	b := blameAnswer{all: []why.Observation{whytest.Observation()}}
	b.print(a, output.Format{}, []string{"nginx"})
	assert.Contains(t, out.String(), "OFFENDER            CAUSE      ms/s\ncc1 in job          neighbour  600 of nginx\n")
	out.Reset()
	blameAnswer{all: []why.Observation{{}}}.print(a, output.Format{}, []string{"nginx"})
	assert.Equal(t, "They waited for nobody.\n", out.String())

	of := why.Offender{}
	for i := range mostKept + 2 {
		of.Of = append(of.Of, why.Kept{Victim: fmt.Sprint("v", i), Time: time.Second, Span: 10 * time.Second})
	}
	assert.Equal(t, "100 of v0, 100 of v1, 100 of v2, 100 of v3, 2 more", whom(of))
}

// TestMachineVictims are all groups that have an owner of their own, those of most processes first.
func TestMachineVictims(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o644))
	}
	write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	write("sys/fs/cgroup/system.slice/a.service/cgroup.procs", "1\n")
	write("sys/fs/cgroup/system.slice/b.service/cgroup.procs", "2\n")
	write("sys/fs/cgroup/system.slice/b.service/sub/cgroup.procs", "3\n4\n")
	names, targets := machineVictims(procfs.New(root))
	assert.Equal(t, []string{"/", "system.slice", "b.service", "a.service"}, names)
	assert.Equal(t, []string{"/system.slice/b.service"}, targets[2].Groups)
}
