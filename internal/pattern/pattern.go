// Package pattern matches globs, and compiles regular expressions when they are first asked for.
// Compiled as the program starts, those of all packages would cost every command
// half a millisecond; it is a tool that scripts start a thousand times. Those of
// the user are limited in length.
package pattern

import (
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// MaxLength is the most bytes that an expression of the user may have: compiled,
// one takes some hundred times its own size.
const MaxLength = 16 << 10

// maxProgram is the most that the expressions of one file, filter or target may have
// together, as size counts: 10 MB.
const maxProgram = 1 << 18

// Budget bounds what the expressions of one file, filter or target take together. The zero
// value is a whole one.
type Budget struct{ used int }

// Take spends what an expression takes, or says why it must not be compiled.
func (b *Budget) Take(expr string) error {
	if len(expr) > MaxLength {
		return fmt.Errorf("the regular expression is longer than %d bytes", MaxLength)
	}
	if b.used <= maxProgram { // else it is not even parsed
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			return err
		}
		b.used += size(re)
	}
	if b.used > maxProgram {
		return fmt.Errorf("the regular expressions are too large: with this one they have more than %d instructions", maxProgram)
	}
	return nil
}

// Compile compiles an expression of the user once it is known what that takes.
func (b *Budget) Compile(expr string) (*regexp.Regexp, error) {
	if err := b.Take(expr); err != nil {
		return nil, err
	}
	return regexp.Compile(expr)
}

// Compile compiles an expression of the user that is alone.
func Compile(expr string) (*regexp.Regexp, error) { return new(Budget).Compile(expr) }

// size is about how many instructions and ranges of characters a node has when it is
// compiled, some 40 bytes each: x{1000} is small as a text only. The parser bounds the depth of the tree and the product of
// repetitions, each to 1000.
func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return n
}

// Lazy returns what compiles the expression once, at its first call. An expression
// that is none panics there.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Whole is Lazy for an expression that has to match all of a string.
func Whole(expr string) func() *regexp.Regexp { return Lazy(`^(?:` + expr + `)$`) }

// flat lets * match slashes too, which mean nothing in names such as ksoftirqd/0.
var flat = strings.NewReplacer("/", "\x00")

// Glob reports whether a text is what a glob means, in which * means slashes too.
func Glob(glob, text string) bool {
	ok, err := path.Match(flat.Replace(glob), flat.Replace(text))
	return err == nil && ok
}

// IsGlob reports whether a text is a glob: each [ and \ is closed.
func IsGlob(text string) bool {
	_, err := path.Match(text, "")
	return err == nil
}
