package profile

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"piton/internal/taskfile"
)

// MaxSize is the most bytes that a profile may have.
const MaxSize = taskfile.MaxSize

const maxLines = 20_000 // of rtctl groups and of tuna's profiles

// Parse reads a profile: piton's own TOML, the rtctl groups that tuna save
// writes, or the sysctl profiles of tuna and tuned. Mistakes are *Errors with
// their positions.
func Parse(data []byte) (*Profile, error) {
	if err := taskfile.Check(data); err != nil {
		return nil, err
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
	p := &Profile{Origin: "a profile of piton"}
	found, err := taskfile.Decode(data, p)
	if err != nil {
		return nil, err
	}
	c := checker{taskfile.Checker{Positions: found}}
	c.profile(p)
	if c.Err != nil {
		return nil, c.Err
	}
	return p, nil
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
