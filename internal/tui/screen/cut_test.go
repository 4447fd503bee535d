package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/stretchr/testify/assert"
)

// typedAt is bytes that come so long after those before.
type typedAt struct {
	after time.Duration
	bytes string
}

// names are what a cutter makes of bytes in a time of its own, each as Bubble Tea names it.
func names(sent ...typedAt) (all []string) {
	var c cutter
	now := time.Unix(1000, 0)
	note := func(events []tea.Msg) {
		for _, e := range events {
			switch e := e.(type) {
			case tea.PasteMsg:
				all = append(all, "paste:"+e.Content)
			case uv.MouseWheelEvent:
				all = append(all, fmt.Sprintf("wheel:%d,%d", e.X, e.Y))
			case uv.KeyPressEvent:
				all = append(all, e.Keystroke())
			default:
				all = append(all, strings.TrimPrefix(fmt.Sprintf("%T", e), "uv."))
			}
		}
	}
	for _, s := range sent {
		until := now.Add(s.after)
		for at, ok := c.deadline(); ok && !at.After(until); at, ok = c.deadline() {
			note(c.expire(at))
		}
		now = until
		note(c.feed([]byte(s.bytes), now))
	}
	for at, ok := c.deadline(); ok; at, ok = c.deadline() {
		note(c.expire(at))
	}
	return all
}

func at(b string) typedAt { return typedAt{0, b} }

func TestCutWholeKeys(t *testing.T) {
	for name, test := range map[string]struct {
		sent []typedAt
		want []string
	}{
		"letters":                  {[]typedAt{at("qÄ中")}, []string{"q", "Ä", "中"}},
		"a torn letter":            {[]typedAt{at("\xe4\xb8"), {300 * time.Millisecond, "\xadx"}}, []string{"中", "x"}},
		"half a letter":            {[]typedAt{at("\xe4\xb8x")}, []string{"x"}},
		"latin 1":                  {[]typedAt{at("\xe4\xfcx")}, []string{"x"}},
		"a letter with its mark":   {[]typedAt{at("ä\u0301x")}, []string{"ä\u0301", "x"}},
		"controls":                 {[]typedAt{at("\r\t\x03\x7f ")}, []string{"enter", "tab", "ctrl+c", "backspace", "space"}},
		"arrows":                   {[]typedAt{at("\x1b[A\x1bOB\x1b[1;5C")}, []string{"up", "down", "ctrl+right"}},
		"with Alt":                 {[]typedAt{at("\x1bj\x1bä")}, []string{"alt+j", "alt+ä"}},
		"Escape":                   {[]typedAt{at("\x1b"), {2 * time.Second, "["}}, []string{"esc", "["}},
		"Escape twice":             {[]typedAt{at("\x1b\x1b")}, []string{"esc", "esc"}},
		"F1 to F5 of the console":  {[]typedAt{at("\x1b[[A\x1b[[E\x1b[[F")}, []string{"f1", "f5"}},
		"F8":                       {[]typedAt{at("\x1b[19~")}, []string{"f8"}},
		"of rxvt, with Shift":      {[]typedAt{at("\x1b[3$q")}, []string{"shift+delete", "q"}},
		"a wheel":                  {[]typedAt{at("\x1b[<64;10;10M")}, []string{"wheel:9,9"}},
		"the wheel of an old one":  {[]typedAt{at("\x1b[M\x60**q")}, []string{"wheel:9,9", "q"}},
		"a place that is negative": {[]typedAt{at("\x1b[<32;-1;5M\x1b[<32;0;5Mq")}, []string{"q"}},
		"a place too far":          {[]typedAt{at("\x1b[<32;12345678;5Mq")}, []string{"q"}},
		"torn after its ESC":       {[]typedAt{at("\x1b"), {105 * time.Millisecond, "[<64;10;10Mq"}}, []string{"esc", "q"}},
		"strings torn there":       {[]typedAt{at("\x1b"), {300 * time.Millisecond, "P1+r6b6b=5b\x1b\\q"}, at("\x1b"), {300 * time.Millisecond, "_Gi=31;k\x1b\\q"}}, []string{"esc", "q", "esc", "q"}},
		"a letter right after":     {[]typedAt{at("\x1b"), {90 * time.Millisecond, "k"}, {0, "q"}}, []string{"esc", "q"}},
		"torn in its middle":       {[]typedAt{at("\x1b[<64;1"), {900 * time.Millisecond, "0;10Mq"}}, []string{"wheel:9,9", "q"}},
		"never completed":          {[]typedAt{at("\x1b[<64;1"), {2 * time.Second, "q"}}, []string{"q"}},
		"broken off by a key":      {[]typedAt{at("\x1b[<64;1\r\x1b[<1\x1b[A")}, []string{"enter", "up"}},
		"17 parameters":            {[]typedAt{at("\x1b[" + strings.Repeat("1;", 16) + "1Aq")}, []string{"q"}},
		"5000 letters":             {[]typedAt{at("\x1b]11;" + strings.Repeat("a", 5000) + "\aq")}, []string{"q"}},
		"5000 letters of a CSI":    {[]typedAt{at("\x1b[" + strings.Repeat("!", 5000) + "Aq")}, []string{"q"}},
		"a string of no use":       {[]typedAt{at("\x1bPq1;2\x1b\\\x1b]0;kkk\aq\x1b_G1\x1b\\")}, []string{"q"}},
		"a string broken off":      {[]typedAt{at("\x1b]0;kkk\x1b[Aq")}, []string{"up", "q"}},
		"C1 controls":              {[]typedAt{at("\x9b<64;10;10Mq\x9d0;k\x9cw\x8fPz")}, []string{"q", "w", "z"}},
		"the background":           {[]typedAt{at("\x1b]11;rgb:0000/0000/0000\x1b\\")}, []string{"BackgroundColorEvent"}},
		"what it is":               {[]typedAt{at("\x1b[?62;22c\x1b[?2026;2$y")}, []string{"PrimaryDeviceAttributesEvent", "ModeReportEvent"}},
		"another size":             {[]typedAt{at("\x1b[8;9000;9000t\x1b[48;9000;9000;1;1tq")}, []string{"q"}},
		"the focus":                {[]typedAt{at("\x1b[I\x1b[Oq")}, []string{"q"}},
		"a paste":                  {[]typedAt{at("\x1b[200~k\x1b[A\nä\x1b[20"), {time.Second, "1~q"}}, []string{"paste:k[A\nä", "q"}},
		"a torn paste":             {[]typedAt{at("\x1b"), {200 * time.Millisecond, "[200~kkk\x1b[201~q"}}, []string{"esc", "q"}},
		"a long paste":             {[]typedAt{at("\x1b[200~" + strings.Repeat("k", longestPaste+5) + "\x1b[201~q")}, []string{"paste:" + strings.Repeat("k", longestPaste), "q"}},
		"a paste without end":      {[]typedAt{at("\x1b[200~kkk"), {time.Minute, "q"}}, []string{"q"}},
	} {
		assert.Equal(t, test.want, names(test.sent...), name)
	}
}
