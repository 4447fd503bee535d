package screen

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// monitorFrames makes lines such as a monitor has, which change from frame to
// frame: figures, sparklines that move along, a marked row, rows that change
// places, texts that come and go.
type monitorFrames struct {
	r      *rand.Rand
	sparks [4]string
	rows   [5]int
	idle   []string
	tick   int
}

func (m *monitorFrames) next() (lines []string) {
	m.tick++
	lines = append(lines, fmt.Sprintf("host up %d\x1b[2m dim\x1b[m  load %.2f", m.tick, m.r.Float64()))
	for i := range m.sparks {
		spark := []rune(m.sparks[i])
		if len(spark) == 20 {
			spark = spark[1:]
		}
		if m.r.IntN(4) > 0 {
			spark = append(spark, []rune("▁▂▃▄▅")[m.r.IntN(5)])
		}
		m.sparks[i] = string(spark)
		mark := ""
		if m.r.IntN(3) == 0 {
			mark = "\x1b[1;36midlest\x1b[m"
		}
		lines = append(lines, fmt.Sprintf("%d %3d%% \x1b[36m%20s\x1b[m %4d %s", i, m.r.IntN(100), m.sparks[i], m.r.IntN(30), mark))
	}
	a, b := m.r.IntN(len(m.rows)), m.r.IntN(len(m.rows))
	m.rows[a], m.rows[b] = m.rows[b], m.rows[a]
	for i, row := range m.rows {
		line := fmt.Sprintf("%5d %4.1f %s", row, m.r.Float64()*9, strings.Repeat("x", m.r.IntN(20)))
		switch {
		case i == m.tick%3:
			line = fmt.Sprintf("\x1b[30;46m%-60s\x1b[m", line)
		case m.r.IntN(9) == 0:
			line = "中文 " + line
		}
		lines = append(lines, line)
	}
	m.shuffle()
	return append(lines, m.idle...)
}

// shuffle lets idle rows come, go, and move to other places.
func (m *monitorFrames) shuffle() {
	for range m.r.IntN(3) {
		if n := len(m.idle); n > 6 {
			at := m.r.IntN(n)
			m.idle = slices.Delete(m.idle, at, min(n, at+1+m.r.IntN(2)))
		}
		if n := len(m.idle); n < 14 {
			name := strings.Repeat(string(rune('a'+m.r.IntN(26))), 10+m.r.IntN(40))
			row := fmt.Sprintf("%5d \x1b[2mS\x1b[m \x1b[32m%s\x1b[m", m.tick, name)
			m.idle = slices.Insert(m.idle, m.r.IntN(n+1), row)
		}
	}
}

// cellsOf is what lines look like. Blanks count as such: tmux does not tell the
// background of erased ones.
func cellsOf(lines []string, width, height int) []string {
	b := uv.NewScreenBuffer(width, height)
	for y, line := range lines {
		uv.NewStyledString(line).Draw(b, uv.Rect(0, y, width, 1))
	}
	for y := range height {
		for x, cell := range b.Line(y) {
			if cell.Content == " " {
				b.Line(y)[x] = uv.EmptyCell
			}
		}
	}
	return strings.Split(b.Render(), "\n")
}

// What is written in pieces and by scrolling looks in a terminal as the frames do.
func TestPiecesMakeTheFrame(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip(err)
	}
	const width, height = 60, 24
	dir := t.TempDir()
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "socket"), "-f", "/dev/null"}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	tt, _ := fileTerminal(t, colorprofile.ANSI256)
	tt.modern = true
	tt.resize(width, height)
	tmux("new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "stty raw -echo; exec tail -c +1 -f "+tt.out.Name())
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", filepath.Join(dir, "socket"), "kill-server").Run() })
	tmux("set", "-g", "status", "off")
	frames := &monitorFrames{r: rand.New(rand.NewPCG(7, 7)), rows: [5]int{11, 22, 33, 44, 55}}
	for range 40 {
		var lines []string
		for range 1 + frames.r.IntN(6) {
			lines = frames.next()
			tt.draw(frame(lines...), frames.r.IntN(3) == 0)
		}
		want := cellsOf(lines, width, height)
		var got []string
		if !assert.Eventually(t, func() bool {
			got = cellsOf(strings.Split(strings.TrimSuffix(tmux("capture-pane", "-p", "-e", "-N"), "\n"), "\n"), width, height)
			return assert.ObjectsAreEqual(want, got)
		}, time.Minute, 50*time.Millisecond) {
			require.Equal(t, want, got)
		}
	}
}

func TestScrolledListCostsLessThanItsLines(t *testing.T) {
	lines := []string{"head"}
	for i := range 12 {
		lines = append(lines, strings.Repeat(string(rune('a'+i)), 20))
	}
	cost := func(key bool) int {
		tt, written := fileTerminal(t, colorprofile.ANSI256)
		tt.modern = true
		tt.resize(40, len(lines))
		tt.draw(frame(lines...), false)
		written()
		tt.draw(frame(slices.Concat(lines[:1], lines[2:], []string{"next"})...), key)
		return len(written())
	}
	assert.Less(t, cost(true), 60)
	assert.Greater(t, cost(false), 200)
}

func TestModernTerminals(t *testing.T) {
	assert.True(t, modern("xterm-256color"))
	assert.True(t, modern("linux"))
	assert.False(t, modern("vt100"))
	assert.False(t, modern(""))
}
