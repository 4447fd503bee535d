package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/topology/topologytest"
)

// tree is a host tree of two CPUs whose tasks the test writes.
type tree struct {
	t    testing.TB
	root string
}

func newTree(t testing.TB) tree {
	h := tree{t, topologytest.Host(t, "2c")}
	h.write("etc/passwd", "root:x:0:0::/:/bin/sh\nballou:x:1000:1000::/:/bin/sh\n")
	h.write("proc/sys/kernel/hostname", "tree\n")
	h.write("proc/loadavg", "0.50 0.25 1.00 1/50 99\n")
	h.write("proc/uptime", "100.50 90.00\n")
	h.write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 600 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n")
	h.cpus("cpu0 10 2 3 80 5 1 1 4 6 1", "cpu1 20 0 0 80 0 0 0 0 0 0")
	return h
}

func (h tree) write(path, content string) {
	h.t.Helper()
	full := filepath.Join(h.root, path)
	require.NoError(h.t, os.MkdirAll(filepath.Dir(full), 0o755))
	require.NoError(h.t, os.WriteFile(full, []byte(content), 0o644))
}

func (h tree) remove(path string) {
	h.t.Helper()
	require.NoError(h.t, os.RemoveAll(filepath.Join(h.root, path)))
}

func (h tree) cpus(lines ...string) {
	out := ""
	for _, l := range lines {
		out += l + "\n"
	}
	h.write("proc/stat", out+"ctxt 77\nprocesses 99\n")
}

// stub is a task to write; zero values are an ordinary sleeping one.
type stub struct {
	pid, tid            int // tid 0: the process
	comm                string
	state               byte
	threads, cpu, start int
	user                int // ticks
	run, delay, slices  int // schedstat
	moves, vol, invol   int // sched
	mask, flags         string
	uid                 int
	policy, rtprio      int
}

func (h tree) task(s stub) {
	dir := fmt.Sprintf("proc/%d/", s.pid)
	number := s.pid
	if s.tid != 0 {
		number = s.tid
		dir += fmt.Sprintf("task/%d/", s.tid)
	}
	if s.state == 0 {
		s.state = 'S'
	}
	for _, d := range []struct {
		v *string
		d string
	}{{&s.mask, "0-1"}, {&s.flags, "0"}} {
		if *d.v == "" {
			*d.v = d.d
		}
	}
	h.write(dir+"stat", fmt.Sprintf("%d (%s) %c 1 1 1 0 -1 %s 7 0 8 0 %d 5 0 0 20 0 %d 0 %d 1000 9 "+
		"1 1 1 1 1 1 0 0 0 0 0 0 0 17 %d %d %d 0 0 0 0 0 0 0 0 0 0 0\n",
		number, s.comm, s.state, s.flags, s.user, max(s.threads, 1), s.start, s.cpu, s.rtprio, s.policy))
	h.write(dir+"status", fmt.Sprintf("Name:\tx\nTgid:\t%d\nUid:\t%d\t%d\t0\t0\nCpus_allowed_list:\t%s\n", s.pid, s.uid, s.uid, s.mask))
	h.write(dir+"schedstat", fmt.Sprintf("%d %d %d\n", s.run, s.delay, s.slices))
	h.write(dir+"sched", fmt.Sprintf("%s (%d, #threads: 1)\n-----\nse.nr_migrations : %d\nnr_voluntary_switches : %d\nnr_involuntary_switches : %d\n",
		s.comm, number, s.moves, s.vol, s.invol))
	if s.tid == 0 && s.flags == "0" {
		h.write(dir+"cmdline", "/bin/prog\x00-x\x00a b\x00")
		h.write(dir+"cgroup", "0::/app.slice\n")
	}
}

func (h tree) sampler(n Needs) *Sampler {
	h.t.Helper()
	s, err := New(Options{Root: h.root, Needs: n})
	require.NoError(h.t, err)
	h.t.Cleanup(func() { require.NoError(h.t, s.Close()) })
	return s
}

func (h tree) read(s *Sampler) *Sample {
	h.t.Helper()
	n, err := s.Read()
	require.NoError(h.t, err)
	return n
}
