// Package shell writes command lines that a shell reads as they are meant. Start at Join.
package shell

import (
	"fmt"
	"strings"
	"unicode"
)

// plain are the characters that mean nothing to a shell inside a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@=,%"

// Word is a text as a shell takes it for one word. Control characters and what is not
// UTF-8 are spelled in octal, so that a terminal shows the word and does not act on it
// ($'…' of POSIX.1-2024, in bash and zsh before it).
func Word(text string) string {
	switch {
	case text != "" && strings.Trim(text, plain) == "":
		return text
	case !strings.ContainsFunc(text, unseen):
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}

// unseen reports whether a character is none that a terminal shows.
func unseen(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }

// Join is a command line of the words.
func Join(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Word(w)
	}
	return strings.Join(out, " ")
}
