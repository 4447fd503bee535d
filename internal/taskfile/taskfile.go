// Package taskfile reads TOML files that say what tasks get: profiles and rules. It
// decodes them within stated limits, in linear time, and has what their tables have in
// common: the checks of names, patterns and values, each error with its line and column,
// how patterns match a task, and how values become settings.
//
// It reads no file and changes nothing. Start at Decode and Checker.
package taskfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// MaxSize is the most bytes that a file may have.
const MaxSize = 16 << 20

// The other limits on a file. They bound the memory and the time that reading
// takes: the TOML decoder compares each key of [sysctl] with all others.
const (
	maxLine    = 1 << 20 // bytes of a line
	maxSigns   = 500_000 // commas, dots and equals signs: the decoder keeps a node for each
	maxTables  = 30_000
	maxSysctls = 10_000
)

// Error is a mistake in a file, with its position.
type Error struct {
	Line, Column int // 1-based; Column is 0 where only the line is known
	Text         string
}

func (e *Error) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Text)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// Check returns an *Error for a file that is too large, or has a line that is too long.
func Check(data []byte) error {
	if len(data) > MaxSize {
		return &Error{Line: 1, Text: "the file is larger than 16 MiB"}
	}
	number := 0
	for line := range bytes.Lines(data) {
		if number++; len(line) > maxLine {
			return &Error{Line: number, Text: fmt.Sprintf("the line is longer than %d bytes", maxLine)}
		}
	}
	return nil
}

// Decode reads TOML that passed Check into a struct, whose toml tags, in lower case, are
// all the keys that there are. Mistakes are *Errors.
func Decode(data []byte, into any) (Positions, error) {
	signs := 0
	for _, sign := range []byte{',', '.', '='} {
		signs += bytes.Count(data, []byte{sign})
	}
	if signs > maxSigns {
		return nil, &Error{Line: 1, Text: fmt.Sprintf("the file has more than %d keys, dots and values of lists", maxSigns)}
	}
	found, err := findPositions(data, reflect.TypeOf(into))
	if err != nil {
		return nil, err
	}
	if err := toml.Unmarshal(data, into); err != nil {
		return nil, tomlError(err)
	}
	return found, nil
}

// tomlError translates the decoder's errors, which carry their positions.
func tomlError(err error) error {
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := decode.Position()
		return &Error{line, column, strings.TrimPrefix(decode.Error(), "toml: ")}
	}
	return &Error{Line: 1, Text: strings.TrimPrefix(err.Error(), "toml: ")}
}
