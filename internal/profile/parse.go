package profile

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// MaxSize is the most bytes that a profile may have.
const MaxSize = 16 << 20

// The other limits on a profile. They bound the memory and the time that reading
// takes: the TOML decoder compares each key of [sysctl] with all others.
const (
	maxLine    = 1 << 20 // bytes of a line
	maxSigns   = 500_000 // commas, dots and equals signs: the decoder keeps a node for each
	maxTables  = 30_000
	maxSysctls = 10_000
	maxLines   = 20_000 // of rtctl groups and of tuna's profiles
)

// Parse reads a profile: piton's own TOML, the rtctl groups that tuna save
// writes, or the sysctl profiles of tuna and tuned. Mistakes are *Errors with
// their positions.
func Parse(data []byte) (*Profile, error) {
	if len(data) > MaxSize {
		return nil, &Error{Line: 1, Text: "the file is larger than 16 MiB"}
	}
	number := 0
	for line := range bytes.Lines(data) {
		if number++; len(line) > maxLine {
			return nil, &Error{Line: number, Text: fmt.Sprintf("the line is longer than %d bytes", maxLine)}
		}
	}
	foreign := parseRtctl
	switch {
	case isRtctl(data):
	case isTunaConf(data):
		foreign = parseTunaConf
	default:
		return parseTOML(data)
	}
	if bytes.Count(data, []byte{'\n'}) > maxLines {
		return nil, &Error{Line: maxLines, Text: fmt.Sprintf("the file has more than %d lines", maxLines)}
	}
	return foreign(data)
}

func parseTOML(data []byte) (*Profile, error) {
	signs := 0
	for _, sign := range []byte{',', '.', '='} {
		signs += bytes.Count(data, []byte{sign})
	}
	if signs > maxSigns {
		return nil, &Error{Line: 1, Text: fmt.Sprintf("the file has more than %d keys, dots and values of lists", maxSigns)}
	}
	found, err := findPositions(data)
	if err != nil {
		return nil, err
	}
	p := &Profile{Origin: "a profile of piton"}
	if err := toml.Unmarshal(data, p); err != nil {
		return nil, tomlError(err)
	}
	c := checker{positions: found}
	c.profile(p)
	if c.err != nil {
		return nil, c.err
	}
	return p, nil
}

// tomlError translates the decoder's errors, which carry their positions.
func tomlError(err error) error {
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		return &Error{line, column, strings.TrimPrefix(decode.Error(), "toml: ")}
	}
	return &Error{Line: 1, Text: strings.TrimPrefix(err.Error(), "toml: ")}
}

// meaningful yields the lines that say something, by their numbers, without
// blanks around them and without comments, which begin with one of the bytes given.
func meaningful(data []byte, comments string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range bytes.Lines(data) {
			number++
			text := strings.TrimSpace(string(line))
			if text != "" && strings.IndexByte(comments, text[0]) < 0 && !yield(number, text) {
				return
			}
		}
	}
}
