package dialog

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/tui/theme"
	"piton/internal/tuitest/golden"
)

// special are the keys that have a name instead of a letter.
var special = map[string]tea.Key{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "space": {Code: tea.KeySpace, Text: " "},
	"backspace": {Code: tea.KeyBackspace}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome},
	"end": {Code: tea.KeyEnd}, "tab": {Code: tea.KeyTab}, "f8": {Code: tea.KeyF8},
}

func stroke(name string) tea.KeyPressMsg {
	if k, ok := special[name]; ok {
		return tea.KeyPressMsg(k)
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg{Code: r, Text: name}
}

// press gives keys, separated by spaces, and returns the last outcome.
func press(d Dialog, keys string) Outcome {
	var out Outcome
	for k := range strings.FieldsSeq(keys) {
		out = d.Update(stroke(k))
	}
	return out
}

// typeText gives each letter as a key.
func typeText(d Dialog, text string) {
	for _, r := range text {
		d.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

var plain = theme.New(theme.Options{})

// screens are the sizes that dialogs are looked at in.
var screens = []struct {
	name          string
	width, height int
}{{"80x24", 80, 24}, {"120x40", 120, 40}, {"20x5", 20, 5}}

// checkGolden compares the dialog over a frame of dots at every size.
func checkGolden(t *testing.T, name string, d Dialog) {
	t.Helper()
	var s Stack
	s.Push(d, nil)
	for _, size := range screens {
		base := strings.TrimSuffix(strings.Repeat(strings.Repeat(".", size.width)+"\n", size.height), "\n")
		frame := s.Overlay(base, size.width, size.height, plain)
		golden.Check(t, name+"-"+size.name, frame, size.width, size.height)
	}
	for w := range 30 {
		for h := range 12 {
			lines := strings.Split(d.Render(w+1, h+1, plain), "\n")
			require.LessOrEqual(t, len(lines), h+1, "%s at %d×%d", name, w+1, h+1)
		}
	}
}

func TestEscapeCancelsEveryDialog(t *testing.T) {
	for _, d := range everyDialog() {
		out := d.Update(stroke("esc"))
		assert.True(t, out.Done && out.Canceled, d.Title())
		assert.Nil(t, out.Value)
	}
}

func TestDialogsDrawTheSameInASCII(t *testing.T) {
	ascii := theme.New(theme.Options{ASCII: true})
	for _, d := range everyDialog() {
		text := lipgloss.NewCompositor(frame(d.Title(), d.Render(100, 40, ascii), 100, 40, ascii)).Render()
		for _, r := range text {
			if r > 126 {
				t.Errorf("%s shows %q on an ASCII terminal", d.Title(), r)
				break
			}
		}
	}
}
