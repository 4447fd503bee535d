package field

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
)

func TestSort(t *testing.T) {
	m := testModel()
	for _, tt := range []struct {
		id   string
		desc bool
		want []int32
	}{
		{"pid", false, []int32{0, 1, 2}},
		{"pid", true, []int32{2, 1, 0}},
		{"cpu_percent", true, []int32{1, 0, 2}},
		{"cpu_percent", false, []int32{1, 0, 2}}, // no value comes last both ways
		{"user", false, []int32{1, 0, 2}},
		{"user", true, []int32{0, 2, 1}},
		{"affinity", true, []int32{1, 0, 2}},
	} {
		c, _ := Lookup(tt.id)
		rows := []int32{0, 1, 2}
		Sort(rows, m, *c, tt.desc)
		assert.Equal(t, tt.want, rows, "%s desc %v", tt.id, tt.desc)
	}
}

func TestCompareText(t *testing.T) {
	order := []string{"", "0-7", "2", "9*", "10", "10-12", "FIFO:9", "FIFO:50", "kworker/1:0", "kworker/1:2", "kworker/11:0", "z"}
	for i := range order {
		for j := range order {
			assert.Equal(t, i < j, compareText([]byte(order[i]), []byte(order[j])) < 0, "%s, %s", order[i], order[j])
		}
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 { // it is an order: what is sorted is so for every pair
		var texts [][]byte
		for range 40 {
			text := make([]byte, rnd.IntN(6))
			for i := range text {
				text[i] = "012a:-*"[rnd.IntN(7)]
			}
			texts = append(texts, text)
		}
		slices.SortFunc(texts, compareText)
		for i := range texts {
			for j := range texts[:i] {
				require.LessOrEqual(t, compareText(texts[j], texts[i]), 0, "%s, %s", texts[j], texts[i])
			}
		}
	}
}

// randomModel is a model of n tasks with values of all sizes, some of which are missing.
func randomModel(rnd *rand.Rand, n int) *model.Model {
	size := func() uint64 { return rnd.Uint64N(1 << rnd.IntN(44)) }
	some := func(a, b uint64) uint64 { // what changed little, much or not at all
		return a + b*uint64(rnd.IntN(2))
	}
	var was, now []*sample.Task
	policies := []kernel.Policy{kernel.Other, kernel.FIFO, kernel.RR, kernel.Batch, kernel.Idle, kernel.Deadline, kernel.Ext}
	for i := range n {
		t := sample.Task{TID: kernel.TID(i + 1), TGID: kernel.TID(i + 1 - rnd.IntN(2)*i/2), PPID: kernel.TID(rnd.IntN(n)), LastCPU: int32(rnd.IntN(9) - 1),
			StartTicks: rnd.Uint64N(1e10), UserTicks: size(), RSSPages: int64(size() >> 12), MinorFaults: size(), MajorFaults: size() >> 20,
			Threads: int32(1 + rnd.IntN(30)), Priority: int16(rnd.IntN(140) - 100), State: "RSDZTI"[rnd.IntN(6)],
			Policy: policies[rnd.IntN(len(policies))], Nice: int8(rnd.IntN(40) - 20), RTPrio: uint8(rnd.IntN(100)),
			MigrationSource: sample.Source(rnd.IntN(5)), Have: sample.Have(rnd.Uint32()), RunNs: size(), RunDelayNs: size(),
			Migrations: size() >> 20, PingPongs: size() >> 20, VoluntarySwitches: size() >> 10, InvoluntarySwitches: size() >> 10,
			IOPrio: kernel.IOPrio{Class: kernel.IOClass(rnd.IntN(4)), Level: int8(rnd.IntN(8))}}
		names := []string{"a", "B", "kworker/3:1", "kworker/12:1", "ev\x1bil", "世", "0010", "9"}
		name := names[rnd.IntN(len(names))] + strings.Repeat("x", rnd.IntN(20))
		t.ID = &sample.Identity{Comm: name, User: names[rnd.IntN(3)], Full: true, Cmdline: name + names[rnd.IntN(len(names))],
			Cgroup: "/system.slice/" + name + ".service"}
		for range rnd.IntN(4) {
			t.Affinity = t.Affinity.Or(cpuset.Of(cpuset.CPU(rnd.IntN(130))))
		}
		if rnd.IntN(3) == 0 {
			t.Group = &sample.Threads{Have: sample.HaveAffinity | sample.HaveAttr, CPUs: t.Affinity,
				AffinityDiffers: rnd.IntN(2) == 0, PolicyDiffers: rnd.IntN(2) == 0, NiceDiffers: rnd.IntN(2) == 0}
		}
		extra := func() *sample.Extra {
			return &sample.Extra{Have: sample.Have(rnd.Uint32()), VirtPages: size() >> 12, SharePages: size() >> 12, ReadBytes: size(),
				WriteBytes: size(), OOMScore: rnd.IntN(1500), WaitChannel: names[rnd.IntN(len(names))]}
		}
		t.Extra = extra()
		next := t
		next.Extra = extra()
		next.RunNs = some(t.RunNs, rnd.Uint64N(2e9))
		next.RunDelayNs = some(t.RunDelayNs, rnd.Uint64N(2e9))
		next.Migrations = some(t.Migrations, rnd.Uint64N(1<<rnd.IntN(30)))
		next.PingPongs = some(t.PingPongs, rnd.Uint64N(1<<rnd.IntN(20)))
		next.VoluntarySwitches = some(t.VoluntarySwitches, rnd.Uint64N(1<<rnd.IntN(30)))
		next.InvoluntarySwitches = some(t.InvoluntarySwitches, rnd.Uint64N(1<<rnd.IntN(30)))
		was, now = append(was, &t), append(now, &next)
	}
	var cpus []sample.CPU
	for id := range cpuset.CPU(8) {
		cpus = append(cpus, sample.CPU{ID: id})
	}
	at := func(s int, tasks []*sample.Task) *sample.Sample {
		return &sample.Sample{Seq: uint64(s), At: time.Duration(s) * time.Second, Wall: time.Date(2026, 11, 20, 15, 0, s, 0, time.UTC), Tasks: tasks, CPUs: cpus,
			Host: sample.Host{Uptime: 1e8 * time.Second, TicksPerSecond: 100, PageBytes: 4096, MemTotalBytes: 1 << 34}}
	}
	first := model.Next(nil, at(1, was), nil)
	return model.Next(first, at(2, now), nil)
}

// printed turns a cell into what its order is judged by: a number, or the text itself.
func printed(t *testing.T, c *TaskColumn, cell string) (number float64, text string) {
	t.Helper()
	switch {
	case cell == None:
		return nan, ""
	case c.num == nil:
		return nan, cell
	case c.ID == "migrations_history":
		for _, r := range cell {
			if i := slices.Index(blocks[:], string(r)); i >= 0 {
				number += float64(int(1) << i)
			}
		}
		return number, ""
	case c.ID == "start":
		return nan, "" // hours, days and years alternate: see TestStart
	case c.ID == "time_s":
		if h, ok := strings.CutSuffix(cell, "h"); ok {
			n, err := strconv.ParseFloat(h, 64)
			require.NoError(t, err)
			return n * 3600, ""
		}
		m, s, _ := strings.Cut(cell, ":")
		minutes, err := strconv.ParseFloat(m, 64)
		require.NoError(t, err)
		seconds, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		return minutes*60 + seconds, ""
	}
	cell = strings.TrimRight(strings.TrimLeft(cell, "≥"), "*")
	factor := 1.0
	if i := strings.IndexByte("KMGTPE", cell[len(cell)-1]); i >= 0 && c.unit == sizes {
		cell, factor = cell[:len(cell)-1], float64(uint64(1)<<(10*(i+1)))
	} else if k, ok := strings.CutSuffix(cell, "k"); ok {
		cell, factor = k, 1000
	}
	n, err := strconv.ParseFloat(cell, 64)
	require.NoError(t, err, "%s: %q", c.ID, cell)
	return n * factor, ""
}

// Whatever the figures, what is printed is in the order that is asked for: missing
// values last, and rows that look alike as they were, by tid.
func TestThePrintedOrderIsTheOrder(t *testing.T) {
	for seed := range uint64(40) {
		m := randomModel(rand.New(rand.NewPCG(seed, 1)), 60)
		for i := range Columns {
			c := &Columns[i]
			for _, desc := range []bool{false, true} {
				rows := make([]int32, len(m.Tasks))
				for i := range rows {
					rows[i] = int32(i)
				}
				Sort(rows, m, *c, desc)
				for n := range rows[1:] {
					inOrder(t, m, c, desc, rows[n], rows[n+1])
				}
			}
		}
	}
}

func TestNoShareIsAboveAll(t *testing.T) {
	for seed := range uint64(40) {
		m := randomModel(rand.New(rand.NewPCG(seed, 2)), 60)
		for i, task := range m.Sample.Tasks {
			r := &m.Tasks[i]
			if !task.IsProcess() {
				require.False(t, r.CPUPercent > 100, "%v", r.CPUPercent)
			}
			require.False(t, r.CPUPercent > 800 || r.DelayPercent > 100 || r.PingPongShare > 1, "%+v", r)
		}
	}
}

func inOrder(t *testing.T, m *model.Model, c *TaskColumn, desc bool, i, j int32) {
	t.Helper()
	a, b := string(c.Append(nil, Row{M: m, I: int(i)})), string(c.Append(nil, Row{M: m, I: int(j)}))
	if c.ID == "start" {
		return
	}
	if a == b {
		if c.rate || c.num == nil {
			require.Less(t, i, j, "%s: both %q", c.ID, a)
		}
		return
	}
	x, xText := printed(t, c, a)
	y, yText := printed(t, c, b)
	order := compareText([]byte(xText), []byte(yText))
	if c.num != nil && x == x && y == y {
		order = 0
		if x < y {
			order = -1
		} else if x > y {
			order = 1
		}
	}
	if desc {
		order = -order
	}
	require.NotEqual(t, None, a, "%s: a value after none: %q", c.ID, b)
	if b != None {
		require.LessOrEqual(t, order, 0, "%s, descending %v: %q before %q", c.ID, desc, a, b)
	}
}
