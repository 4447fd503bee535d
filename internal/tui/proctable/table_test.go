package proctable

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
	"piton/internal/tuitest"
)

var th = theme.New(theme.Options{Depth: theme.Colors256})

// shown is a table over a machine.
type shown struct {
	*Table
	t       *testing.T
	machine *tuitest.Machine
	last    *model.Model
}

func show(t *testing.T) *shown {
	columns, err := field.Select(field.Process)
	require.NoError(t, err)
	sort, _ := field.Lookup("cpu_percent")
	s := &shown{t: t, machine: tuitest.New(topologytest.Sized(8)),
		Table: New(View{Columns: columns, Sort: sort, Desc: true})}
	s.tick(3)
	s.Render(120, 10, th)
	return s
}

func (s *shown) tick(n int) {
	for range n {
		s.last = model.Next(s.last, s.machine.Tick(), s.machine.Topology)
		s.Load(s.last)
	}
}

func (s *shown) change(f func(*View)) {
	v := s.View()
	f(&v)
	s.SetView(v)
}

// at is the TID under the cursor.
func (s *shown) at() kernel.TID {
	r, ok := s.Selected()
	require.True(s.t, ok)
	return r.Task().TID
}

func (s *shown) order() []kernel.TID {
	var out []kernel.TID
	for i := range s.Len() {
		out = append(out, s.Row(i).Task().TID)
	}
	return out
}

func (s *shown) text() string { return ansi.Strip(strings.Join(s.Render(120, 10, th), "\n")) }

func TestOrder(t *testing.T) {
	s := show(t)
	assert.Equal(t, []kernel.TID{3641, 3642, 4000, 980, 1, 612, 1204, 4711}, s.order())
	s.change(func(v *View) { v.Sort, _ = field.Lookup("pid"); v.Desc = true })
	assert.Equal(t, []kernel.TID{4711, 4000, 3642, 3641, 1204, 980, 612, 1}, s.order())
}

func TestKernelThreadsAreHiddenUntilAskedFor(t *testing.T) {
	s := show(t)
	assert.NotContains(t, s.order(), kernel.TID(2))
	s.change(func(v *View) { v.Kernel = true })
	assert.Contains(t, s.order(), kernel.TID(2))
	assert.Contains(t, s.text(), "[migration/0]")
}

func TestThreadsAreHiddenUntilAskedFor(t *testing.T) {
	s := show(t)
	s.machine.Thread(3650, 3642, "matrix-2")
	s.tick(1)
	assert.NotContains(t, s.order(), kernel.TID(3650))
	s.change(func(v *View) { v.Threads = true })
	assert.Contains(t, s.order(), kernel.TID(3650))
}

func TestFilterAndUser(t *testing.T) {
	s := show(t)
	f, err := field.ParseFilter("mig>10")
	require.NoError(t, err)
	s.change(func(v *View) { v.Filter = f })
	assert.Equal(t, []kernel.TID{3641}, s.order())
	s.change(func(v *View) { v.Filter, v.User = nil, "balu" })
	assert.Equal(t, []kernel.TID{3641, 3642, 1204, 4711}, s.order())
}

func TestCursorFollowsItsTask(t *testing.T) {
	s := show(t)
	s.Move(3)
	assert.Equal(t, kernel.TID(980), s.at())
	s.machine.Proc(980).Busy = 1.5
	s.tick(1)
	assert.Equal(t, kernel.TID(980), s.order()[0])
	assert.Equal(t, kernel.TID(980), s.at())
	s.change(func(v *View) { v.Desc = false })
	assert.Equal(t, s.order()[0], s.at(), "another order is shown from its top")
}

func TestCursorStartsAtTheTopOfTheFirstRealOrder(t *testing.T) {
	columns, _ := field.Select(field.Process)
	sort, _ := field.Lookup("cpu_percent")
	s := &shown{t: t, machine: tuitest.New(topologytest.Sized(2)), Table: New(View{Columns: columns, Sort: sort, Desc: true})}
	s.tick(1)
	assert.Equal(t, kernel.TID(1), s.at())
	s.tick(1)
	assert.Equal(t, kernel.TID(3641), s.at(), "the first order with rates")
	s.machine.Proc(3642).Busy = 3
	s.tick(1)
	assert.Equal(t, kernel.TID(3641), s.at(), "from then on it stays on its task")
}

func TestCursorOfATaskThatEnded(t *testing.T) {
	s := show(t)
	s.Move(1)
	s.machine.Kill(3642)
	s.tick(1)
	assert.Equal(t, kernel.TID(4000), s.at(), "the row that is there now")
	for _, pid := range []kernel.TID{1, 612, 980, 1204, 3641, 4000, 4711} {
		s.machine.Kill(pid)
	}
	s.tick(1)
	_, ok := s.Selected()
	assert.False(t, ok)
	assert.Zero(t, s.Count())
	s.Move(1)
	s.End()
	s.ToggleTag()
	s.Page(1)
	assert.Empty(t, s.Targets())
}

func TestReusedNumberIsAnotherTask(t *testing.T) {
	s := show(t)
	s.ToggleTag()
	s.machine.Proc(3641).Task.StartTicks = 99
	s.tick(1)
	assert.Zero(t, s.Tags())
}

func TestTags(t *testing.T) {
	s := show(t)
	s.ToggleTag()
	s.ToggleTag()
	assert.Equal(t, 2, s.Tags())
	assert.Equal(t, 2, s.Count())
	assert.Equal(t, kernel.TID(4000), s.at(), "tagging moves on")
	targets := s.Targets()
	assert.Equal(t, kernel.TID(3641), targets[0].Task().TID)
	assert.Contains(t, s.text(), th.Tag)
	f, _ := field.ParseFilter("matrix")
	s.change(func(v *View) { v.Filter = f })
	assert.Len(t, s.Targets(), 1, "what is not on the list is not acted on")
	f, _ = field.ParseFilter("sshd")
	s.change(func(v *View) { v.Filter = f })
	targets = s.Targets()
	assert.Len(t, targets, 1)
	assert.Equal(t, s.at(), targets[0].Task().TID, "no tagged one is on the list, so the cursor counts")
	assert.Equal(t, 2, s.Tags())
	s.Untag()
	assert.Zero(t, s.Tags())
	assert.Len(t, s.Targets(), 1)
}

func TestTagTree(t *testing.T) {
	s := show(t)
	require.True(t, s.Select(612))
	assert.Equal(t, 5, s.TagTree(), "sshd, bash and its three children")
}

func TestTree(t *testing.T) {
	s := show(t)
	s.change(func(v *View) { v.Tree = ByParent })
	assert.Equal(t, []kernel.TID{1, 4000, 980, 612, 1204, 3641, 3642, 4711}, s.order())
	assert.Contains(t, s.text(), "└─-bash")
	assert.Contains(t, s.text(), "  ├─./nq")

	require.True(t, s.Select(1204))
	s.ToggleFold()
	assert.Equal(t, []kernel.TID{1, 4000, 980, 612, 1204}, s.order())
	assert.Contains(t, s.text(), "└─+ -bash")
	s.ToggleFold()
	assert.Len(t, s.order(), 8)

	f, _ := field.ParseFilter("user:balu")
	s.change(func(v *View) { v.Filter = f })
	assert.Equal(t, []kernel.TID{1204, 3641, 3642, 4711}, s.order())
	f, _ = field.ParseFilter("nqueens")
	s.change(func(v *View) { v.Filter = f })
	assert.Equal(t, []kernel.TID{3641}, s.order(), "a row without a shown ancestor is a root")
}

func TestTreeSurvivesACircle(t *testing.T) {
	s := show(t)
	s.machine.Proc(1204).Task.PPID = 3641
	s.change(func(v *View) { v.Tree = ByParent })
	s.tick(1)
	assert.Equal(t, 8, s.Len())
}

// visible reports whether the cursor's row is on the screen.
func (s *shown) visible() bool {
	return strings.Contains(s.text(), "\n"+th.Cursor)
}

func TestScrolling(t *testing.T) {
	s := show(t)
	s.machine.Crowd(100)
	s.tick(1)
	s.Render(120, 10, th)
	s.End()
	assert.Equal(t, kernel.TID(10099), s.at())
	assert.True(t, s.visible())
	s.Home()
	s.Wheel(50)
	assert.Equal(t, "51/108", s.Position(), "the wheel takes the cursor along")
	s.Page(1)
	assert.Equal(t, "59/108", s.Position())
	s.Page(-1)
	assert.Equal(t, "51/108", s.Position())
	assert.True(t, s.Click(5, 3))
	assert.Equal(t, "53/108", s.Position())
	assert.False(t, s.Click(5, 99))
}

func TestFollow(t *testing.T) {
	s := show(t)
	s.machine.Crowd(100)
	s.tick(1)
	s.Render(120, 10, th)
	s.machine.Proc(3641).Busy = 0
	require.True(t, s.Select(3641))
	s.SetFollow(true)
	s.change(func(v *View) { v.Sort, _ = field.Lookup("pid"); v.Desc = true })
	assert.Equal(t, kernel.TID(3641), s.at())
	assert.True(t, s.visible())
	s.SetFollow(false)
	s.change(func(v *View) { v.Desc = false })
	assert.Equal(t, kernel.TID(1), s.at(), "without it, another order is shown from its top")
	s.machine.Proc(1).Busy = 1
	s.End()
	last := s.at()
	s.change(func(v *View) { v.Tree = ByParent })
	assert.Equal(t, last, s.at(), "a tree is no other order")
	assert.True(t, s.visible())
}

func TestSearch(t *testing.T) {
	s := show(t)
	assert.True(t, s.Search("SSHD", false))
	assert.Equal(t, kernel.TID(612), s.at())
	assert.True(t, s.Search("matrix", true))
	assert.Equal(t, kernel.TID(3642), s.at())
	assert.False(t, s.Search("no such thing", false))
	assert.False(t, s.Search("", false))
	assert.True(t, s.SelectPrefix("12"))
	assert.Equal(t, kernel.TID(1204), s.at())
	assert.True(t, s.SelectPrefix("1"))
	assert.Equal(t, kernel.TID(1), s.at())
	assert.False(t, s.SelectPrefix("999"))
	assert.False(t, s.SelectPrefix("x"))
}

func TestWatchedAreTheVisibleAndTheTagged(t *testing.T) {
	s := show(t)
	s.machine.Crowd(100)
	s.tick(1)
	s.Render(120, 5, th)
	s.ToggleTag()
	s.Render(120, 5, th)
	s.Wheel(100)
	watched := s.Watched()
	assert.Contains(t, watched, kernel.TID(3641))
	assert.Less(t, len(watched), 10)
}

func TestHorizontalScroll(t *testing.T) {
	s := show(t)
	s.Scroll(3)
	assert.NotContains(t, s.text(), "USER")
	assert.Contains(t, s.text(), "PID")
	s.Scroll(100)
	assert.Contains(t, s.text(), "PID")
	s.Scroll(-100)
	assert.Contains(t, s.text(), "USER")
}

func TestNarrowScreensKeepWhatMatters(t *testing.T) {
	s := show(t)
	for w, titles := range map[int][]string{
		100: {"PID", "CPU%", "CPU ", "ALLOWED", "MIG/s", "MIG ", "COMMAND"},
		60:  {"PID", "CPU%", "CPU ", "ALLOWED", "MIG/s", "MIG ", "COMMAND"},
		40:  {"PID", "CPU%", "CPU ", "MIG/s", "COMMAND"},
		16:  {"PID", "COMMAND"},
	} {
		heading := ansi.Strip(s.Render(w, 10, th)[0])
		for _, title := range titles {
			assert.Contains(t, heading, title, w)
		}
	}
}

func TestColumnAt(t *testing.T) {
	s := show(t)
	heading, _, _ := strings.Cut(s.text(), "\n")
	x := strings.Index(heading, "USER")
	require.Equal(t, "user", s.ColumnAt(x).ID)
	assert.Equal(t, "pid", s.ColumnAt(0).ID)
	assert.Nil(t, s.ColumnAt(4000))
}

func TestEveryLineHasTheWidthOfTheScreenAtMost(t *testing.T) {
	s := show(t)
	s.machine.Add(5000, 1, "日本語テスト", "日本語のコマンド ライン é", "日本", 0.5, 0, s.machine.Topology.Online.CPUs())
	s.tick(1)
	for w := 1; w < 210; w++ {
		for _, l := range s.Render(w, 12, th) {
			assert.LessOrEqual(t, ansi.StringWidth(l), w, "%d: %q", w, l)
		}
	}
}

func TestMovingTheCursorKeepsOtherRows(t *testing.T) {
	s := show(t)
	before := s.Render(120, 10, th)
	s.Move(2)
	after := s.Render(120, 10, th)
	assert.Equal(t, before[5:], after[5:])
	assert.NotEqual(t, before[3], after[3])
	assert.Equal(t, strings.TrimPrefix(ansi.Strip(before[1]), th.Cursor), strings.TrimPrefix(ansi.Strip(after[1]), " "))
}

func BenchmarkLoad5000(b *testing.B) {
	machine := tuitest.New(topologytest.Sized(8))
	machine.Crowd(5000)
	columns, _ := field.Select(field.Process)
	sort, _ := field.Lookup("cpu_percent")
	t := New(View{Columns: columns, Sort: sort, Desc: true})
	m := machine.Model(3)
	b.ReportAllocs()
	for b.Loop() {
		t.Load(m)
	}
}

func BenchmarkRender50(b *testing.B) {
	machine := tuitest.New(topologytest.Sized(8))
	machine.Crowd(5000)
	columns, _ := field.Select(field.Process)
	sort, _ := field.Lookup("cpu_percent")
	t := New(View{Columns: columns, Sort: sort, Desc: true})
	t.Load(machine.Model(3))
	b.ReportAllocs()
	for b.Loop() {
		t.Scroll(0)
		t.Render(200, 45, th)
	}
}

// BenchmarkTick is a second of the screen: new figures, drawn.
func BenchmarkTick(b *testing.B) {
	machine := tuitest.New(topologytest.Sized(8))
	machine.Crowd(500)
	columns, _ := field.Select(field.Process)
	sort, _ := field.Lookup("cpu_percent")
	t := New(View{Columns: columns, Sort: sort, Desc: true})
	m := machine.Model(3)
	b.ReportAllocs()
	for b.Loop() {
		t.Load(m)
		t.Render(120, 27, th)
	}
}
