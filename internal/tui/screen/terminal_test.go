package screen

import (
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fileTerminal is a 40x5 terminal in use that writes to a file; written returns
// what came since it was called last.
func fileTerminal(t *testing.T, profile colorprofile.Profile) (tt *terminal, written func() string) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "screen")
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	tt = &terminal{out: f, env: []string{"TERM=xterm-256color"}, profile: profile, saved: &term.State{}}
	tt.cells = uv.NewTerminalRenderer(&tt.queue, tt.env)
	tt.cells.SetColorProfile(profile)
	tt.cells.EnterAltScreen()
	tt.resize(40, 5)
	seen := 0
	return tt, func() string {
		all, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		defer func() { seen = len(all) }()
		return string(all[seen:])
	}
}

func frame(lines ...string) tea.View { return tea.NewView(strings.Join(lines, "\n")) }

func TestDrawWritesOnlyWhatDiffers(t *testing.T) {
	tt, written := fileTerminal(t, colorprofile.ANSI256)
	tt.draw(frame("alpha 1", "beta", "\x1b[31mred\x1b[m"), false)
	first := written()
	assert.Contains(t, first, "alpha 1")
	assert.Contains(t, first, "\x1b[31m")

	tt.draw(frame("alpha 1", "beta", "\x1b[31mred\x1b[m"), false)
	assert.Empty(t, written(), "an unchanged frame writes nothing")

	tt.draw(frame("alpha 2", "beta", "\x1b[31mred\x1b[m"), false)
	change := written()
	assert.Contains(t, change, "2")
	assert.NotContains(t, change, "beta")
	assert.Less(t, len(change), 16)

	tt.repaint()
	tt.draw(frame("alpha 2", "beta", "\x1b[31mred\x1b[m"), false)
	assert.Contains(t, written(), "beta", "a repaint draws everything")
}

func TestAKeyThatChangesNothingIsAnswered(t *testing.T) {
	tt, written := fileTerminal(t, colorprofile.ANSI256)
	tt.draw(frame("first row"), false)
	written()
	tt.draw(frame("first row"), true)
	assert.Equal(t, "\r", written())
	tt.draw(frame("first row 2"), false)
	assert.Contains(t, written(), "2")
}

func TestMeterCountsWhatIsWritten(t *testing.T) {
	tt, written := fileTerminal(t, colorprofile.ANSI256)
	tt.meter = &Meter{}
	tt.sync = true
	tt.draw(frame("alpha 1"), false)
	tt.draw(frame("alpha 1"), false)
	tt.draw(frame("alpha 2"), false)
	bytes, frames := tt.meter.Read()
	assert.Equal(t, uint64(len(written())), bytes)
	assert.Equal(t, uint64(2), frames, "an unchanged frame is none")
}

func TestDrawNoColor(t *testing.T) {
	tt, written := fileTerminal(t, colorprofile.ASCII)
	tt.draw(frame("\x1b[1;31mred\x1b[m"), false)
	out := written()
	assert.Contains(t, out, "\x1b[1m", "bold stays")
	assert.NotContains(t, out, "31")
}

func TestDrawOnTheConsole(t *testing.T) {
	const missing = "▁▂▃▄▅▆▇▉▊▋▌▍▎▏▓▕⇧✓" // of the fonts of console-setup
	tt, written := fileTerminal(t, colorprofile.ANSI)
	tt.console = true
	tt.draw(frame("▌x "+missing+" 7%", "\x1b[31m█░▒\x1b[m"), false)
	out := written()
	assert.False(t, strings.ContainsAny(out, missing), "%q", out)
	assert.Contains(t, out, "█░▒")
	for _, c := range missing {
		assert.Equal(t, 1, ansi.StringWidth(onConsole.Replace(string(c))), "%c", c)
	}
}

func TestDrawModes(t *testing.T) {
	tt, written := fileTerminal(t, colorprofile.ANSI)
	v := frame("a")
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "piton"
	v.Cursor = tea.NewCursor(3, 1)
	tt.draw(v, false)
	out := written()
	for _, want := range []string{mouseOn, "piton", "\x1b[?25h"} {
		assert.Contains(t, out, want)
	}
	tt.draw(frame("a"), false)
	out = written()
	for _, want := range []string{mouseOff, "\x1b[?25l"} {
		assert.Contains(t, out, want)
	}
}

func TestDrawOutgrown(t *testing.T) {
	tt, written := fileTerminal(t, colorprofile.ANSI)
	tt.draw(frame("1", "2", "3", "4", "5", "six", "seven"), false)
	assert.NotContains(t, written(), "six", "lines below the screen are cut")
	tt.resize(0, 0)
	tt.draw(frame("x"), false)
	assert.Empty(t, written())
	tt.resize(3, 2)
	tt.draw(frame("wide line", "b"), false)
	assert.NotContains(t, written(), "line")
}

func BenchmarkDraw(b *testing.B) {
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(b, err)
	defer out.Close()
	tt := &terminal{out: out, env: []string{"TERM=xterm-256color"}, profile: colorprofile.ANSI256, saved: &term.State{}}
	tt.cells = uv.NewTerminalRenderer(&tt.queue, tt.env)
	tt.cells.EnterAltScreen()
	tt.resize(200, 50)
	a := strings.Repeat(strings.Repeat("\x1b[32mabcdefgh\x1b[m 1", 20)+"\n", 50)
	c := strings.Repeat(strings.Repeat("\x1b[32mabcdefgh\x1b[m 2", 20)+"\n", 50)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			tt.draw(tea.NewView(a), false)
		} else {
			tt.draw(tea.NewView(c), false)
		}
	}
}
