package list

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/field"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

var th = theme.New(theme.Options{Depth: theme.Colors256})

// item is a row of the tests: a thing with a value, -1 for none.
type item struct {
	id, value int
	name      string
}

func newList() *List[int, item] {
	number := func(id string, f func(item) int) field.Column[item] {
		return field.Column[item]{ID: id, Title: strings.ToUpper(id), Width: 5, Right: true, Desc: id == "value",
			Value: func(r item) any { return field.NonNegative(f(r)) }}
	}
	name := field.Column[item]{ID: "name", Title: "NAME", Text: func(r item) string { return r.name }, Tone: func(item) field.Tone { return field.Accent }}
	wide := field.Column[item]{ID: "wide", Title: "A WIDE ONE", Width: 20, Tight: 4, Rank: 2}
	l := New(func(r item) int { return r.id }, "value", number("id", func(r item) int { return r.id }),
		number("value", func(r item) int { return r.value }), wide, name)
	l.Draws = map[string]Draw[item]{"wide": func(dst []byte, r item, th *theme.Theme, width int) []byte {
		return th.Good.Append(dst, fmt.Sprintf("%-*.*s", width, width, r.name))
	}}
	return l
}

func items(values ...int) []item {
	var out []item
	for i, v := range values {
		out = append(out, item{i + 1, v, fmt.Sprintf("thing-%d", i+1)})
	}
	return out
}

func ids(l *List[int, item]) (out []int) {
	for _, r := range l.Rows() {
		out = append(out, r.id)
	}
	return out
}

func text(l *List[int, item], width, height int) []string {
	return strings.Split(ansi.Strip(strings.Join(l.Render(width, height, th), "\n")), "\n")
}

func TestOrder(t *testing.T) {
	l := newList()
	l.Load(items(3, -1, 7, 3), true)
	assert.Equal(t, []int{3, 1, 4, 2}, ids(l), "what is alike stays in its order, what has no value comes last")
	l.Invert()
	assert.Equal(t, []int{1, 4, 3, 2}, ids(l))
	l.StepSort(true)
	assert.Equal(t, []int{1, 2, 3, 4}, ids(l), "by number, in its usual direction")
	l.StepSort(false)
	l.SortBy("name")
	id, desc := l.Sorted()
	assert.Equal(t, "value", id, "nothing can be sorted by names")
	assert.True(t, desc)
	l.SortBy("value")
	_, desc = l.Sorted()
	assert.False(t, desc, "the same once more inverts")
	assert.Equal(t, "1/4", l.Position(), "another order is shown from its top")
	l.Order = func(id string, desc bool) { l.SetOrder(id, desc) }
	l.SortBy("name")
	id, _ = l.Sorted()
	assert.Equal(t, "name", id, "the owner can")
}

func TestTheCursorFollowsItsObject(t *testing.T) {
	l := newList()
	l.Load(items(1, 2, 3), false)
	assert.Equal(t, 3, l.At())
	l.Load(items(3, 2, 1), true)
	assert.Equal(t, 1, l.At(), "no key has moved it, and there was no order yet")
	l.Load(items(1, 2, 3), true)
	assert.Equal(t, 1, l.At(), "from now on it follows")
	assert.Equal(t, "3/3", l.Position())
	l.SetFollow(true)
	l.Invert()
	assert.Equal(t, 1, l.At())
	l.SetFollow(false)
	l.Restart()
	l.Load(items(1, 2, 3), true)
	assert.Equal(t, "1/3", l.Position())
}

func TestTheCursorOfWhatEnded(t *testing.T) {
	l := newList()
	l.Load(items(6, 5, 4, 3, 2, 1), true)
	l.Move(2)
	l.Load(slices.Delete(items(1, 5, 4, 3, 2, 6), 2, 4), true) // 3 and 4 have ended, 6 is first now
	assert.Equal(t, 5, l.At(), "the next one below that is still there")
	l.Load(items(1, 2), true)
	assert.Equal(t, 1, l.At(), "or the one above, wherever it is")
	l.Load(nil, true)
	assert.Empty(t, l.Position())
	_, ok := l.Selected()
	assert.False(t, ok)
	l.Load(items(1, 2), true)
	assert.Equal(t, 1, l.At(), "it was not forgotten")
}

func TestTags(t *testing.T) {
	l := newList()
	l.TagOf = func(r item) (int, bool) { return r.id, r.id != 2 }
	l.Load(items(4, 3, 2, 1), true)
	l.ToggleTag()
	assert.Equal(t, 3, l.At(), "on to the next that can be tagged")
	l.ToggleTag()
	l.Load(items(0, 3, 2, 1), true)
	require.Len(t, l.Targets(), 2)
	assert.Equal(t, 3, l.Targets()[0].id, "in the order of the list")
	l.Load(items(0, 3), true)
	assert.Len(t, l.TagsShown(), 1)
	assert.Equal(t, 2, l.Tags())
	l.KeepTags(2, func(i int) int { return i + 1 })
	assert.Equal(t, 1, l.Tags())
	l.Untag()
	assert.Equal(t, 1, l.Count())
	assert.Equal(t, 1, l.Targets()[0].id)
	assert.Equal(t, 1, l.TagAll(), "2 cannot be tagged")
}

func TestLooks(t *testing.T) {
	l := newList()
	l.Load(append(items(7, 5), item{3, 1, "evil\x1b]0;x\a"}), true)
	l.Tag(func(r item) bool { return r.id == 2 })
	assert.Equal(t, []string{
		"    ID VALUE▾ A WIDE ONE           NAME           ",
		"▌    1      7 thing-1              thing-1        ",
		"●    2      5 thing-2              thing-2        "}, text(l, 50, 5)[:3])
	assert.Contains(t, text(l, 60, 5)[3], "evil?]0;x?")
	assert.Equal(t, "    ID VALUE▾ A WIDE ONE NAME         ", text(l, 38, 5)[0], "as tight as the title, which is not cut")
	assert.Equal(t, "    ID VALUE▾ NAME        ", text(l, 26, 5)[0], "the highest rank goes first")
	assert.Equal(t, []string{"id", "value", "name"}, l.Shown())
	l.Scroll(2)
	assert.Equal(t, "    ID NAME               ", text(l, 26, 5)[0])
	l.Line = func(r item, th *theme.Theme) (rows.Row, bool) {
		var line rows.Row
		line.Add(th.Text, "all of it")
		return line, r.id == 2
	}
	l.Whole = func(r item, th *theme.Theme) (theme.Style, bool) { return th.Dim, r.id == 3 }
	l.Scroll(-9)
	out := l.Render(45, 5, th)
	assert.Contains(t, out[2], "all of it")
	assert.True(t, strings.HasPrefix(out[3], th.Dim.Render(" ")[:4]))
	l.SetQuiet(true)
	assert.True(t, strings.HasPrefix(l.Render(45, 5, th)[1], th.Cursor))
}

func TestClick(t *testing.T) {
	l := newList()
	l.Load(items(9, 8, 7, 6), true)
	frame := func() []string {
		return strings.Split(ansi.Strip(l.Frame(45, 7, []string{"head"}, []string{"foot"}, th)), "\n")
	}
	assert.Equal(t, "head", frame()[0])
	assert.Equal(t, "foot", frame()[6])
	assert.True(t, l.Click(3, 4))
	assert.Equal(t, "3/4", l.Position())
	assert.False(t, l.Click(3, 6), "the foot")
	assert.False(t, l.Click(3, 1))
	id, _ := l.Sorted()
	assert.Equal(t, "id", id, "the heading")
	l.Load(nil, true)
	assert.NotContains(t, strings.Join(frame(), ""), "VALUE", "an empty list has no heading")
	assert.False(t, l.Click(3, 1))
}

// TestOneRowIsDrawnAtATime: a key draws nothing again but what it brings on the screen.
func TestOneRowIsDrawnAtATime(t *testing.T) {
	l := newList()
	drawn := 0
	l.Draws["wide"] = func(dst []byte, r item, _ *theme.Theme, width int) []byte {
		drawn++
		return fmt.Appendf(dst, "%*d", width, r.id)
	}
	l.Load(items(make([]int, 100)...), true)
	l.Render(60, 21, th)
	assert.Equal(t, 20, drawn)
	for range 25 {
		l.Move(1)
		l.Render(60, 21, th)
	}
	assert.Equal(t, 26, drawn)
	l.Wheel(-3)
	l.Render(60, 21, th)
	assert.Equal(t, 29, drawn)
}

// FuzzList: whatever the keys, the window and the samples do, the cursor's row is on the
// screen, what is printed is in order, and the cursor stays on its object.
func FuzzList(f *testing.F) {
	const names = "nnnnbees<>ifFwW pPjjjkgG"
	for seed := range 50 {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		keys := make([]byte, 150)
		for i := range keys {
			keys[i] = names[r.IntN(len(names))]
		}
		f.Add(keys, seed)
	}
	f.Fuzz(func(t *testing.T, keys []byte, seed int) {
		w := world{t: t, l: newList(), rnd: uint32(seed), width: 60, height: 10}
		for range 3 + seed&31 {
			w.born()
		}
		w.load()
		for _, k := range keys[:min(len(keys), 300)] {
			w.act(k)
			w.check(k)
		}
	})
}

// world is a list whose items come, change and go.
type world struct {
	t             *testing.T
	l             *List[int, item]
	rnd           uint32
	all           []item
	next          int
	atLeast       int // the filter
	width, height int
	moved         bool // by a key, or because what it was on is gone
	was           int
}

func (w *world) random(n int) int {
	w.rnd = w.rnd*1664525 + 1013904223
	return int(w.rnd>>16) % n
}

func (w *world) born() {
	w.next++
	w.all = append(w.all, item{w.next, w.random(12) - 1, fmt.Sprintf("item %d of all", w.next)})
}

func (w *world) load() {
	var shown []item
	for _, r := range w.all {
		if r.value >= w.atLeast {
			shown = append(shown, r)
		}
	}
	w.moved = w.moved || !slices.ContainsFunc(shown, func(r item) bool { return r.id == w.was })
	w.l.Load(shown, true)
}

func (w *world) act(k byte) {
	w.was, w.moved = w.l.At(), true
	switch k {
	case 'n': // a sample
		w.moved = false
		for i := range w.all {
			if w.random(3) == 0 {
				w.all[i].value = w.random(12) - 1
			}
		}
		w.load()
	case 'b':
		w.moved = false
		w.born()
		w.load()
	case 'e': // one ends
		w.moved = false
		if len(w.all) > 0 {
			i := w.random(len(w.all))
			w.all = slices.Delete(w.all, i, i+1)
		}
		w.load()
	case 's': // another size
		w.moved = false
		w.width, w.height = 1+w.random(90), 1+w.random(24)
	case '<', '>':
		w.moved = !w.l.Following()
		w.l.Scroll(int(k) - '=')
		w.l.StepSort(k == '>')
	case 'i':
		w.l.Invert()
	case 'f':
		w.atLeast = w.random(4) - 1
		w.l.Restart()
		w.load()
	case 'F':
		w.l.SetFollow(!w.l.Following())
	case 'w', 'W':
		w.l.Wheel(int(w.random(7)) - 3)
	case ' ':
		w.l.ToggleTag()
	case 'p':
		w.l.Page(1)
	case 'P':
		w.l.Page(-1)
	case 'j':
		w.l.Move(1)
	case 'k':
		w.l.Move(-1)
	case 'g':
		w.l.Home()
	default:
		w.l.End()
	}
}

func (w *world) check(k byte) {
	lines := text(w.l, w.width, w.height)
	require.Len(w.t, lines, w.height)
	at, ok := w.l.Selected()
	if !ok {
		return
	}
	require.Equal(w.t, at.id, w.l.At())
	if !w.moved {
		require.Equal(w.t, w.was, at.id, "%q: the cursor left its object", k)
	}
	marked := -1
	var printed []item
	for y, line := range lines[1:] {
		require.LessOrEqual(w.t, ansi.StringWidth(line), w.width)
		if strings.HasPrefix(line, th.Cursor) {
			require.Equal(w.t, -1, marked, "one cursor")
			marked = y
		}
		if line != "" {
			printed = append(printed, w.l.Window()[y])
		}
	}
	if w.height > 1 {
		require.GreaterOrEqual(w.t, marked, 0, "%q: the cursor's row is on the screen", k)
		require.Equal(w.t, at, printed[marked])
	}
	id, desc := w.l.Sorted()
	for i := 1; i < len(printed); i++ {
		a, b := printed[i-1].id, printed[i].id
		if id == "value" {
			a, b = printed[i-1].value, printed[i].value
		}
		require.True(w.t, b < 0 || a >= 0 && (a <= b) != desc || a == b, "%q: %d before %d by %s", k, a, b, id)
	}
}

func BenchmarkKey(b *testing.B) {
	l := newList()
	l.Load(items(make([]int, 10000)...), true)
	l.Render(200, 50, th)
	b.ReportAllocs()
	for b.Loop() {
		l.Move(1)
		if l.At() == 10000 {
			l.Home()
		}
		l.Render(200, 50, th)
	}
}

func TestZerosAreDim(t *testing.T) {
	for text, dim := range map[string]bool{"0": true, "0.0": true, "0 %": true, "≥0.0": true, "10": false, "0.1": false, "–": false} {
		for _, names := range []bool{false, true} {
			l := New(func(r int) int { return r }, "", field.Column[int]{ID: "n", Title: "N", Width: 5, Right: true, Names: names,
				Text: func(int) string { return text }})
			l.Bare = true
			l.Load([]int{1}, true)
			line := l.Render(10, 2, th)[1]
			assert.Equal(t, dim && !names, strings.Contains(line, th.Dim.Render(text)), "%q %v", line, names)
		}
	}
}
