package theme

import (
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Wish is what the user said about colour and glyphs on the command line.
type Wish struct{ NoColor, ASCII bool }

// Detect chooses options for a terminal from the environment, a list of NAME=value.
// colorprofile finds the depth, but for two things: it takes NO_COLOR=yes for no, where
// any value that is not empty means yes (no-color.org), and a VT100 or VT220 for
// coloured, which would not show a cursor made of colours.
func Detect(w Wish, out io.Writer, env []string) Options {
	get := func(name string) string { return value(env, name) }
	o := Options{ASCII: ASCII(w.ASCII, env), Background: background(get)}
	term := get("TERM")
	switch {
	case w.NoColor, get("NO_COLOR") != "", strings.HasSuffix(term, "-m"),
		strings.HasPrefix(term, "vt1"), strings.HasPrefix(term, "vt2"):
		o.Depth = Mono
	default:
		o.Depth = max(colorprofile.Detect(out, env), Mono)
	}
	return o
}

// background is what is known before the terminal answers OSC 11, which some never
// do: rxvt and Konsole say it in COLORFGBG, "15;0", and the console of Linux is black.
func background(get func(string) string) Background {
	last := get("COLORFGBG")
	last = last[strings.LastIndexByte(last, ';')+1:]
	switch {
	case last == "7" || last == "15":
		return Light
	case last != "" && last != "default", get("TERM") == "linux":
		return Dark
	}
	return Unknown
}

// ASCII reports whether text may have no glyphs beyond ASCII: it was asked for, or the locale is
// not UTF-8. The first of LC_ALL, LC_CTYPE and LANG that is set decides (locale(7)).
func ASCII(asked bool, env []string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(value(env, name)); v != "" {
			return asked || !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return true
}

// value is that of a variable in a list of NAME=value.
func value(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v
		}
	}
	return ""
}
