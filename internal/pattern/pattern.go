// Package pattern compiles regular expressions when they are first asked for.
// Compiled as the program starts, those of all packages would cost every command
// half a millisecond; it is a tool that scripts start a thousand times.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns what compiles the expression once, at its first call. An expression
// that is none panics there.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Whole is Lazy for an expression that has to match all of a string.
func Whole(expr string) func() *regexp.Regexp { return Lazy(`^(?:` + expr + `)$`) }
