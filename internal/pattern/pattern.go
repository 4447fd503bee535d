// Package pattern compiles regular expressions when they are first asked for.
// Compiled as the program starts, those of all packages would cost every command
// half a millisecond; it is a tool that scripts start a thousand times. Those of
// the user are limited in length.
package pattern

import (
	"fmt"
	"regexp"
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

// Lazy returns what compiles the expression once, at its first call. An expression
// that is none panics there.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Whole is Lazy for an expression that has to match all of a string.
func Whole(expr string) func() *regexp.Regexp { return Lazy(`^(?:` + expr + `)$`) }
