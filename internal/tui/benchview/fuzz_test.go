package benchview

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"piton/internal/bench"
)

// FuzzForm types anything into the form: what it gives must be a valid study.
func FuzzForm(f *testing.F) {
	f.Add("\x01\x0615\x00")
	f.Add("\x02\x01\x01\x01\x01\x05\x00")
	names := []string{"enter", "down", "right", "up", "left", "space", "backspace", "tab"}
	f.Fuzz(func(t *testing.T, keys string) {
		form := sampleForm()
		for _, r := range keys {
			msg := tea.KeyPressMsg{Code: r, Text: string(r)}
			if int(r) < len(names) {
				msg = stroke(names[r])
			}
			out := form.Update(msg)
			if out.Canceled {
				return
			}
			if out.Done {
				if err := out.Value.(bench.Study).Validate(); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
		for l := range strings.SplitSeq(form.Render(40, 8, plain), "\n") {
			if ansi.StringWidth(l) > 40 {
				t.Fatalf("%q is too wide", l)
			}
		}
	})
}
