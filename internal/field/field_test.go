package field

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
)

// testModel is a machine of eight CPUs with a bouncing process, a FIFO task, a
// kernel thread and a hostile name.
func testModel() *model.Model {
	s := &sample.Sample{
		Seq:  2,
		Wall: time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC),
		Host: sample.Host{Boot: time.Date(2026, 11, 20, 5, 0, 0, 0, time.UTC), TicksPerSecond: 100, PageBytes: 4096},
		Tasks: []*sample.Task{
			{TID: 2, TGID: 2, State: 'S', LastCPU: -1, Flags: sample.FlagKernelThread,
				ID: &sample.Identity{Comm: "kthreadd", User: "root", Full: true}},
			{TID: 3641, TGID: 3641, PPID: 1, StartTicks: 3_600_00 * 9, State: 'R', Priority: 20, LastCPU: 3, Threads: 1,
				UserTicks: 25_231, RSSPages: 300, Have: sample.HaveAffinity | sample.HaveMigrations | sample.HaveRun,
				Affinity: cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7), Migrations: 410, MigrationSource: sample.SourceSched, RunDelayNs: 21e6,
				ID: &sample.Identity{Comm: "nqueens", Cmdline: "./nqueens 16", User: "balu", UID: 1000, Full: true}},
			{TID: 4000, TGID: 4000, State: 'R', Policy: kernel.FIFO, RTPrio: 50, Priority: -51, LastCPU: 1, Nice: -5,
				Have: sample.HaveIOPrio, IOPrio: kernel.IOPrio{Class: kernel.IOBestEffort, Level: 4},
				ID: &sample.Identity{Comm: "evil\x1b[2J\n", Cmdline: "evil\x1b]0;x\a \xff 世\u200b", User: "root", Full: true}},
		},
	}
	for i := range 8 {
		s.CPUs = append(s.CPUs, sample.CPU{ID: cpuset.CPU(i)})
	}
	none := model.Task{CPUPercent: model.Unknown, MEMPercent: 0, MigPerS: model.Unknown, VolPerS: model.Unknown,
		InvolPerS: model.Unknown, DelayPercent: model.Unknown, Moves: 1<<64 - 1}
	bouncing := model.Task{CPUPercent: 99.8, MEMPercent: 0.1, MigPerS: 41, VolPerS: 2, InvolPerS: 1234.5, DelayPercent: 2.1, CPUsSeen: 8}
	bouncing.Moves = 0xffff_0000_1234_5678
	return &model.Model{Sample: s, Elapsed: time.Second, Tasks: []model.Task{none, bouncing, none}}
}

func cell(t *testing.T, id string, i int) string {
	t.Helper()
	c, ok := Lookup(id)
	require.True(t, ok, id)
	return string(c.Append(nil, Row{M: testModel(), I: i}))
}

func TestCells(t *testing.T) {
	for _, tt := range []struct {
		id   string
		row  int
		want string
	}{
		{"pid", 1, "3641"},
		{"user", 1, "balu"},
		{"cpu", 0, None},
		{"cpu", 1, "3"},
		{"policy", 1, "OTHER"},
		{"policy", 2, "FIFO:50"},
		{"priority", 2, "-51"},
		{"cpu_percent", 0, None},
		{"cpu_percent", 1, "99.8"},
		{"rss_bytes", 1, "1.2M"},
		{"time_s", 1, "4:12.31"},
		{"affinity", 0, None},
		{"affinity", 1, "0-7"},
		{"migrations_per_s", 1, "41.0"},
		{"migrations", 1, "410"},
		{"involuntary_per_s", 1, "1234"},
		{"ioprio", 2, "be:4"},
		{"ioprio", 1, None},
		{"start", 1, "14:00"},
		{"start", 2, "05:00"},
		{"command", 0, "[kthreadd]"},
		{"command", 1, "./nqueens 16"},
		{"command", 2, "evil?]0;x? ? 世?"},
		{"comm", 2, "evil?[2J "},
		{"state", 1, "R"},
		{"migrations_history", 1, "        ▁▂▃▄▅▆▇█"},
		{"migrations_history", 0, None},
		{"class", 2, "FF"},
		{"virt_bytes", 1, None},
		{"node", 1, None},
	} {
		assert.Equal(t, tt.want, cell(t, tt.id, tt.row), "%s of row %d", tt.id, tt.row)
	}
}

// TestFiguresOfACutStatFileAreUnknown also finds a column of that file that ofStat lacks: it
// tells figures of such a task.
func TestFiguresOfACutStatFileAreUnknown(t *testing.T) {
	m := testModel()
	m.Sample.Tasks[1].Odd = true
	r := Row{M: m, I: 1}
	for i := range Columns {
		c := &Columns[i]
		unknown := slices.Contains(ofStat, c.ID)
		if unknown {
			assert.Nil(t, c.Value(r), c.ID)
			assert.Equal(t, None, string(c.Append(nil, r)), c.ID)
			assert.Equal(t, "/proc/PID/stat of this task is cut or malformed", c.Why(r), c.ID)
		}
	}
	other := testModel()
	task := other.Sample.Tasks[1]
	task.Odd, task.PPID, task.StartTicks, task.UserTicks, task.SystemTicks, task.RSSPages = true, 7, 7, 7, 7, 7
	task.MinorFaults, task.MajorFaults, task.Priority, task.Policy, task.Nice, task.RTPrio, task.LastCPU = 7, 7, 7, kernel.Batch, 7, 7, 7
	for i := range Columns {
		c := &Columns[i]
		assert.Equal(t, c.Value(r), c.Value(Row{M: other, I: 1}), "%s shows a figure of a stat file that is cut or malformed: add it to ofStat", c.ID)
	}
	name, _ := Lookup("comm")
	assert.Equal(t, "nqueens", name.Value(r))
}

// A task may take blanks for its name and its command line.
func TestABlankNameIsSeen(t *testing.T) {
	for _, id := range []sample.Identity{{Comm: "   ", Cmdline: "  "}, {}} {
		s := &sample.Sample{Tasks: []*sample.Task{{TID: 9, TGID: 9, ID: &id}}}
		assert.Equal(t, "–", Cell("command", Row{M: model.Next(nil, s, nil), I: 0}))
	}
	id := sample.Identity{Comm: "x", Cmdline: " "}
	s := &sample.Sample{Tasks: []*sample.Task{{TID: 9, TGID: 9, ID: &id}}}
	assert.Equal(t, "x", Cell("command", Row{M: model.Next(nil, s, nil), I: 0}))
}

func TestSampledMigrationsAreMarked(t *testing.T) {
	m := testModel()
	m.Sample.Tasks[1].MigrationSource = sample.SourceSampled
	c, _ := Lookup("mig")
	assert.Equal(t, "≥41.0", string(c.Append(nil, Row{M: m, I: 1})))
	assert.Equal(t, ">41.0", string(c.Append(nil, Row{M: m, I: 1, ASCII: true})))
}

func TestEveryColumn(t *testing.T) {
	m := testModel()
	ids := map[string]bool{}
	for i := range Columns {
		c := &Columns[i]
		assert.False(t, ids[c.ID], "%s is there twice", c.ID)
		ids[c.ID] = true
		assert.NotEmpty(t, c.Title, c.ID)
		assert.NotEmpty(t, c.Help, c.ID)
		assert.True(t, (c.num == nil) != (c.text == nil), "%s is either a number or a text", c.ID)
		assert.True(t, c.Width == 0 || len(c.Title) < c.Width, "%s: there is room for the heading and the sort mark", c.ID)
		for i := range m.Tasks {
			r := Row{M: m, I: i}
			value, why := c.Value(r), c.Why(r)
			assert.Equal(t, value == nil, why != "", "%s of row %d: %v, %q", c.ID, i, value, why)
			if c.Width > 0 {
				assert.Equal(t, c.Width, Width(AppendCell(nil, c, r, c.Width)), "%s of row %d", c.ID, i)
			}
			for _, b := range c.Append(nil, Row{M: m, I: i, ASCII: true}) {
				assert.True(t, b >= ' ' && b < 0x7f, "%s of row %d is not ASCII", c.ID, i)
			}
		}
	}
}

func TestLists(t *testing.T) {
	for _, list := range [][]string{Process, Thread, JSON} {
		_, err := Select(list)
		assert.NoError(t, err)
	}
	_, err := Select([]string{"pid", "PID"})
	assert.ErrorContains(t, err, "twice")
	_, err = Select([]string{"nonsense\x1b"})
	assert.ErrorContains(t, err, `"nonsense?"`)
}

func TestNeeds(t *testing.T) {
	columns, err := Select(Process)
	require.NoError(t, err)
	n := Needs(columns, nil)
	assert.Equal(t, sample.Needs{Affinity: true, Migrations: true, ThreadDelay: true, ThreadAttr: true}, n)
	f, err := ParseFilter("nq mig>3")
	require.NoError(t, err)
	assert.Equal(t, sample.Needs{Migrations: true, Identity: true}, Needs(nil, f))
	f, err = ParseFilter("allowed~3 delay>5")
	require.NoError(t, err)
	assert.Equal(t, sample.Needs{Affinity: true, All: true, Delay: true, ThreadDelay: true}, Needs(nil, f))
}

func TestAppendDoesNotAllocate(t *testing.T) {
	m := testModel()
	columns, err := Select(Process)
	require.NoError(t, err)
	buf := make([]byte, 0, 4096)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		buf = buf[:0]
		for i := range m.Tasks {
			for _, c := range columns {
				buf = AppendCell(buf, c, Row{M: m, I: i}, max(c.Width, 20))
			}
		}
	}))
}

func TestThreadsThatDifferAreMarked(t *testing.T) {
	m := testModel()
	m.Sample.Tasks[1].Group = &sample.Threads{Have: sample.HaveAffinity | sample.HaveAttr, CPUs: cpuset.Of(0, 1, 2, 9),
		AffinityDiffers: true, PolicyDiffers: true, NiceDiffers: true}
	for id, want := range map[string]string{"affinity": "0-2,9*", "policy": "OTHER*", "nice": "0*"} {
		c, _ := Lookup(id)
		assert.Equal(t, want, string(c.Append(nil, Row{M: m, I: 1})))
	}
	c, _ := Lookup("affinity")
	assert.Equal(t, "0-2,9", c.Value(Row{M: m, I: 1}))
}

func TestExtraCells(t *testing.T) {
	m := testModel()
	m.Sample.Tasks[1].Extra = &sample.Extra{Have: sample.HaveMemory | sample.HaveIO | sample.HaveOOM | sample.HaveWait,
		VirtPages: 1 << 20, SharePages: 30, OOMScore: 666, WaitChannel: "do_epoll_wait"}
	for id, want := range map[string]string{"virt_bytes": "4.0G", "shared_bytes": "120K", "oom_score": "666", "wchan": "do_epoll_wait", "read_bytes_per_s": None} {
		c, _ := Lookup(id)
		assert.Equal(t, want, string(c.Append(nil, Row{M: m, I: 1})), id)
	}
}
