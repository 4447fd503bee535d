package dialog

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// FuzzKeys hammers a dialog with keys and pastes: it must neither panic, nor
// draw outside of its room, nor let an escape of the input through.
func FuzzKeys(f *testing.F) {
	f.Add(uint8(12), "\x00\x01nl0-3\x02", uint8(40), uint8(10))
	f.Add(uint8(8), "\x01f99\x07x", uint8(20), uint8(5))
	f.Add(uint8(11), "\x1b[2Jcpu=3\x05\x05", uint8(3), uint8(1))
	names := []string{"enter", "down", "up", "left", "right", "space", "backspace", "tab", "pgdown", "end", "home"}
	f.Fuzz(func(t *testing.T, which uint8, keys string, w, h uint8) {
		dialogs := everyDialog()
		d := dialogs[int(which)%len(dialogs)]
		width, height := int(w)+1, int(h)+1
		for _, r := range keys {
			msg := tea.Msg(tea.KeyPressMsg{Code: r, Text: string(r)})
			if int(r) < len(names) {
				msg = stroke(names[r])
			}
			if d.Update(msg).Done {
				return
			}
		}
		d.Update(tea.PasteMsg{Content: keys})
		lines := strings.Split(d.Render(width, height, plain), "\n")
		if len(lines) > height {
			t.Fatalf("%d lines in %d", len(lines), height)
		}
		for _, l := range lines {
			if n := ansi.StringWidth(l); n > width {
				t.Fatalf("%d cells in %d: %q", n, width, l)
			}
			if strings.ContainsAny(ansi.Strip(l), "\x1b\x07\r") {
				t.Fatalf("a control character: %q", l)
			}
		}
	})
}
