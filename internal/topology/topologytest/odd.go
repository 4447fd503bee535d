package topologytest

import "strings"

// Odd is what may become of a line without its end.
var Odd = map[string]func(line string) string{
	"dropped": func(string) string { return "" },
	"doubled": func(line string) string { return line + "\n" + line + "\n" },
	"cut": func(line string) string { // between words: half a number is as good as a whole one
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(words) == 1 {
			if strings.Trim(line, "0123456789") == "" {
				return "\n"
			}
			return line[:2] + "\n"
		}
		return line[:strings.LastIndex(line, words[len(words)/2])] + "\n"
	},
	"negated": func(line string) string { return beforeNumber(line, "-") },
	"too large": func(line string) string {
		return beforeNumber(line, "99999999999999999999")
	},
}

// beforeNumber puts text before the last number of a line that begins a word.
func beforeNumber(line, text string) string {
	for i := len(line) - 1; i > 0; i-- {
		if line[i] >= '0' && line[i] <= '9' && strings.ContainsRune(" \t=/", rune(line[i-1])) {
			return line[:i] + text + line[i:] + "\n"
		}
	}
	return line + "\n"
}
