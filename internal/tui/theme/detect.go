package theme

import "strings"

// Wish is what the user said about colour and glyphs on the command line.
type Wish struct{ NoColor, ASCII bool }

// Detect chooses options from the environment. NO_COLOR with any non-empty value
// turns colour off (no-color.org); the first of LC_ALL, LC_CTYPE and LANG that
// is set decides whether glyphs beyond ASCII can be shown (locale(7)).
func Detect(w Wish, getenv func(string) string) Options {
	return Options{Depth: depth(w, getenv), ASCII: w.ASCII || !utf8Locale(getenv)}
}

func depth(w Wish, getenv func(string) string) Depth {
	term := getenv("TERM")
	switch {
	case w.NoColor || getenv("NO_COLOR") != "" || term == "dumb" || strings.HasSuffix(term, "-m") ||
		strings.HasPrefix(term, "vt1") || strings.HasPrefix(term, "vt2"):
		return Mono
	case strings.Contains(term, "256color") || getenv("COLORTERM") != "" ||
		strings.HasSuffix(term, "-direct") || strings.Contains(term, "kitty"):
		return Colors256
	}
	return Colors16
}

func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
