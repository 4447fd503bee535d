package proctable

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"piton/internal/field"
	"piton/internal/kernel"
)

// keyNames are what FuzzTable does: n a sample, b and e a task begins and ends, s a size
// of the window, o an order, f a filter, the others move, tag and fold.
const keyNames = "nnnnbbeesofFtkTUcxjjkKpPgGwWv "

// FuzzTable: whatever the keys, the window and the machine do, the cursor's row is on the
// screen, what is printed is in order, and the cursor stays on its task.
func FuzzTable(f *testing.F) {
	for seed := range 30 {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		keys := make([]byte, 100)
		for i := range keys {
			keys[i] = byte(r.Uint32())
		}
		f.Add(keys, seed)
	}
	f.Fuzz(func(t *testing.T, keys []byte, seed int) {
		w := fuzzed{shown: show(t), rnd: uint32(seed), pid: 20000, width: 120, height: 10}
		for _, k := range keys[:min(len(keys), 200)] {
			w.act(keyNames[int(k)%len(keyNames)])
		}
	})
}

type fuzzed struct {
	*shown
	rnd           uint32
	pid           kernel.TID
	width, height int
}

func (w *fuzzed) random(n int) int {
	w.rnd = w.rnd*1664525 + 1013904223
	return int(w.rnd>>16) % n
}

func (w *fuzzed) act(k byte) {
	was, moved := w.At(), false
	switch k {
	case 'n':
		for _, p := range w.machine.Procs {
			if w.random(3) == 0 {
				p.Busy, p.Moves = float64(w.random(90))/100, w.random(20)
			}
		}
		w.tick(1)
	case 'b':
		w.pid++
		w.machine.Add(w.pid, 1204, "worker", "worker", "balu", float64(w.random(5))/10, w.random(3), w.machine.Topology.Online.CPUs())
		w.tick(1)
	case 'e':
		if n := len(w.machine.Procs); n > 0 {
			w.machine.Kill(w.machine.Procs[w.random(n)].Task.TID)
		}
		w.tick(1)
	case 's':
		w.width, w.height = 1+w.random(200), 1+w.random(40)
	case 'v':
		w.change(func(v *View) { v.Tree = v.Tree.Next() })
	case 'T':
		w.change(func(v *View) { v.Kernel = !v.Kernel })
	default:
		moved = true
		w.press(k)
	}
	w.check(k)
	if !moved && slices.ContainsFunc(w.Rows(), func(r int32) bool { return KeyOf(w.task(r)) == was }) {
		require.Equal(w.t, was, w.At(), "%q: the cursor left its task", k)
	}
}

// press is what may move the cursor to another task.
func (w *fuzzed) press(k byte) {
	switch k {
	case 'o':
		id := []string{"pid", "cpu_percent", "migrations_per_s", "user", "time_s", "command"}[w.random(6)]
		w.change(func(v *View) { v.Sort, _ = field.Lookup(id); v.Desc = w.random(2) == 0 })
	case 'f':
		filter, _ := field.ParseFilter([]string{"", "cpu>5", "balu", "nosuch"}[w.random(4)])
		w.change(func(v *View) { v.Filter = filter })
	case 'F':
		w.SetFollow(!w.Following())
	case 't', ' ':
		w.ToggleTag()
	case 'c':
		w.TagTree()
	case 'U':
		w.Untag()
	case 'x':
		w.ToggleFold()
	case 'j':
		w.Move(1)
	case 'k', 'K':
		w.Move(-1)
	case 'p':
		w.Page(1)
	case 'P':
		w.Page(-1)
	case 'g':
		w.Home()
	case 'G':
		w.End()
	case 'w':
		w.Wheel(3)
	case 'W':
		w.Wheel(-3)
	}
}

func (w *fuzzed) check(k byte) {
	lines := strings.Split(ansi.Strip(strings.Join(w.Render(w.width, w.height, th), "\n")), "\n")
	if w.Len() == 0 || w.height < 2 {
		return
	}
	n := 0
	for _, line := range lines[1:] {
		require.LessOrEqual(w.t, ansi.StringWidth(line), w.width)
		if strings.HasPrefix(line, th.Cursor) {
			n++
		}
	}
	require.Equal(w.t, 1, n, "%q: the cursor's row is on the screen, once", k)
	v := w.View()
	if v.Sort.ID == "time_s" || v.Tree != Flat { // 0:06.38 is no number; siblings are in order
		return
	}
	for i := 1; i < w.Len(); i++ {
		a, b := field.Cell(v.Sort.ID, w.Row(i-1)), field.Cell(v.Sort.ID, w.Row(i))
		x, errA := strconv.ParseFloat(a, 64)
		y, errB := strconv.ParseFloat(b, 64)
		ordered := a == b || (a < b) != v.Desc
		if errA == nil && errB == nil {
			ordered = x == y || (x < y) != v.Desc
		}
		require.True(w.t, ordered || b == field.None, "%q: %s before %s by %s", k, a, b, v.Sort.ID)
	}
}
