// Package keymap knows the names of keys, as charm.land/bubbletea/v2 gives them and as
// people write them. Start at Label.
package keymap

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// names are the keys that have a name instead of a character, with their labels.
var names = map[string]string{"space": "Space", "enter": "Enter", "esc": "Esc", "tab": "Tab", "backspace": "Backspace",
	"up": "↑", "down": "↓", "left": "←", "right": "→", "home": "Home", "end": "End", "pgup": "PgUp", "pgdown": "PgDn",
	"insert": "Ins", "delete": "Del", "f1": "F1", "f2": "F2", "f3": "F3", "f4": "F4", "f5": "F5", "f6": "F6", "f7": "F7", "f8": "F8",
	"f9": "F9", "f10": "F10", "f11": "F11", "f12": "F12"}

// modifiers are the prefixes of a key's name, with their labels.
var modifiers = []struct{ prefix, label string }{{"ctrl+", "^"}, {"alt+", "Alt-"}, {"shift+", "⇧"}}

func bare(key string) (modified, rest string) {
	for _, m := range modifiers {
		if len(key) > len(m.prefix) && strings.HasPrefix(key, m.prefix) {
			modified, key = modified+m.label, key[len(m.prefix):]
		}
	}
	return modified, key
}

// Valid reports whether there is a key of that name.
func Valid(key string) bool {
	_, rest := bare(key)
	return names[rest] != "" || utf8.RuneCountInString(rest) == 1
}

// Label is how keys are written for people: "F7 ]", "^O", "1-5".
func Label(keys []string) string {
	if n := len(keys); n > 3 && len(strings.Join(keys, "")) == n { // digits
		return keys[0] + "-" + keys[n-1]
	}
	var words []string
	for _, key := range keys {
		modified, rest := bare(key)
		if modified == "^" {
			rest = strings.ToUpper(rest)
		}
		words = append(words, modified+cmp.Or(names[rest], rest))
	}
	return strings.Join(words, " ")
}
