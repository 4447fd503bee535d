package dialog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/tui/theme"
	"piton/internal/tuitest/golden"
)

// sampleForm has a field of each kind, and more than fit on a small screen.
func sampleForm() *Form {
	f := &Form{Titled: "Sample", Enter: "start", About: func() []Line { return []Line{{Quiet, "about 3 s"}} }}
	f.Fields = []Field{
		{Label: "word", Value: "b", Words: []string{"a", "b", "c"}, Help: "one of three"},
		{Kind: One, Key: "u", Label: "up", On: true, Help: "first of the choice"},
		{Kind: One, Key: "d", Label: "down", Help: "second of the choice, with more to say of it than there is room for beside it"},
		{Kind: Number, Label: "number", Value: "7", Least: 1, Most: 9, Help: "1 to 9"},
		{Kind: Text, Label: "text", Value: "abc", Help: "no x", Set: func(s string) error {
			if strings.Contains(s, "x") {
				return errors.New("x is not a letter")
			}
			return nil
		}},
		{Kind: Text, Key: "o", Label: "off", Off: "only up has it", Has: func() bool { return f.Fields[1].On }}}
	for i := range 9 {
		f.Fields = append(f.Fields, Field{Kind: Tick, Group: "boxes", Label: fmt.Sprint("box ", i+1), On: i%2 == 0, Help: "a box"})
	}
	f.Answer = func() (any, error) {
		var out []string
		for _, fd := range f.Fields {
			switch {
			case fd.boxed() && fd.On:
				out = append(out, fd.Label)
			case !fd.boxed():
				out = append(out, fd.Value)
			}
		}
		if len(out) < 4 {
			return nil, errors.New("too few")
		}
		return strings.Join(out, " "), nil
	}
	return f
}

func TestFormAnswers(t *testing.T) {
	const boxes = " box 1 box 3 box 5 box 7 box 9"
	for keys, want := range map[string]string{
		"enter":                            "b up 7 abc ",
		"right enter":                      "c up 7 abc ",
		"right right enter":                "a up 7 abc ",
		"left left space enter":            "a up 7 abc ",
		"down down enter":                  "b down 7 abc ",
		"down down down right enter":       "b down 8 abc ",
		"tab tab + + + enter":              "b up 9 abc ",
		"tab tab backspace 3 enter":        "b up 3 abc ",
		"tab tab a 2 backspace enter":      "b up 7 abc ",
		"d enter":                          "b down 7 abc ",
		"d tab tab z left backspace enter": "b down 7 abz ",
		"d tab up enter":                   "b down 7 abc ",
		"o y enter":                        "b up 7 abc y",
		"d o y enter":                      "b down 7 abc ",
		"k k j j j j end home enter":       "b down 7 abc ",
		"pgdown enter":                     "b up 7 abc ",
	} {
		out := press(sampleForm(), keys)
		assert.Equal(t, want+boxes, out.Value, keys)
	}
	assert.Equal(t, "b up 7 abc  box 1 box 3 box 5 box 7", press(sampleForm(), "end x enter").Value)
	f := sampleForm()
	press(f, "end")
	assert.Equal(t, Outcome{}, f.Update(tea.KeyPressMsg{}), "a key without a name is none of the form's")
	assert.Equal(t, "box 9", f.At().Label)
	assert.Equal(t, "b up 7 abc  box 1 box 3 box 5 box 7", press(sampleForm(), "end space enter").Value)
}

// TestFormSaysWhatIsWrongBelowTheField: while one types, and louder once Enter was pressed, where
// the cursor then is.
func TestFormSaysWhatIsWrongBelowTheField(t *testing.T) {
	coloured := theme.New(theme.Options{Depth: theme.Colors16})
	f := sampleForm()
	before := len(strings.Split(f.Render(60, 30, coloured), "\n"))
	press(f, "tab tab tab x home") // home is in the text
	lines := strings.Split(f.Render(60, 30, coloured), "\n")
	at := 0
	for !strings.Contains(ansi.Strip(lines[at]), "▌  text") && at < len(lines)-2 {
		at++
	}
	assert.Contains(t, lines[at+1], coloured.Warn.Render("x is not a letter"))
	assert.Len(t, lines, before, "the dialog keeps its size")
	press(f, "end tab")
	assert.Equal(t, Outcome{}, press(f, "enter"))
	lines = strings.Split(f.Render(60, 30, coloured), "\n")
	assert.Contains(t, lines[at+1], coloured.Bad.Render("x is not a letter"))
	assert.Equal(t, "text", f.At().Label)
	press(f, "backspace")
	assert.Len(t, strings.Split(f.Render(60, 30, coloured), "\n"), before, "the dialog keeps its size")
	assert.True(t, press(f, "enter").Done)
}

// TestFormHidesNoFieldWithoutASign: what is out of sight is counted, and the cursor and what is
// wrong with its field are in sight.
func TestFormHidesNoFieldWithoutASign(t *testing.T) {
	f := sampleForm()
	for range 2 * len(f.Fields) {
		text := ansi.Strip(f.Render(56, 13, plain))
		shown, more := 0, 0
		for line := range strings.SplitSeq(text, "\n") {
			var up, down int
			switch fields := strings.Fields(line); {
			case strings.HasSuffix(line, " more"):
				for i := 0; i+1 < len(fields); i += 2 {
					fmt.Sscanf(strings.Join(fields[i:i+2], " "), "↑ %d", &up)
					fmt.Sscanf(strings.Join(fields[i:i+2], " "), "↓ %d", &down)
				}
				more = up + down
			case strings.ContainsAny(line, "<[(") && !strings.Contains(line, "Enter"), strings.Contains(line, "number "), strings.Contains(line, "text "), strings.Contains(line, "off "):
				shown++
			}
		}
		assert.Equal(t, len(f.Fields), shown+more, text)
		assert.Contains(t, text, "▌")
		press(f, "tab")
	}
	f.GoTo(4)
	press(f, "x")
	assert.Contains(t, ansi.Strip(f.Render(56, 8, plain)), "x is not a letter")
	press(f, "down down down down down down up up up up up up")
	text := ansi.Strip(f.Render(56, 8, plain))
	assert.Contains(t, text, "x is not a letter")
	assert.Contains(t, text, "▌  text")
}

func TestFormLooks(t *testing.T) {
	f := sampleForm()
	press(f, "d tab tab x")
	checkGolden(t, "form", f)
	golden.Check(t, "form-56x13", f.Render(56, 13, plain), 56, 13)
}
