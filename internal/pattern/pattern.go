// Package pattern compiles regular expressions when they are first asked for.
// Compiled as the program starts, those of all packages would cost every command
// half a millisecond; it is a tool that scripts start a thousand times. Those of
// the user are limited in length.
package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
)

// MaxLength is the most bytes that an expression of the user may have: compiled,
// one takes some hundred times its own size.
const MaxLength = 16 << 10

// Compile compiles an expression of the user.
func Compile(expr string) (*regexp.Regexp, error) {
	if len(expr) > MaxLength {
		return nil, fmt.Errorf("the regular expression is longer than %d bytes", MaxLength)
	}
	return regexp.Compile(expr)
}

// Size is about how many instructions and ranges of characters an expression has when it
// is compiled, some 40 bytes each: x{1000} is small as a text only.
func Size(expr string) (int, error) {
	if len(expr) > MaxLength {
		return 0, fmt.Errorf("the regular expression is longer than %d bytes", MaxLength)
	}
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return size(re), nil
}

// size counts below a node. The parser bounds the depth of the tree and the product of
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
