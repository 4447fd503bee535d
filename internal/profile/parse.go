package profile

import (
	"bytes"
	"errors"
	"iter"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// MaxSize is the most bytes that a profile may have.
const MaxSize = 4 << 20

// Parse reads a profile: piton's own TOML, the rtctl groups that tuna save
// writes, or the sysctl profiles of tuna and tuned. Mistakes are *Errors with
// their places.
func Parse(data []byte) (*Profile, error) {
	if len(data) > MaxSize {
		return nil, &Error{Line: 1, Text: "the file is too large for a profile"}
	}
	switch {
	case isRtctl(data):
		return parseRtctl(data)
	case isTunaConf(data):
		return parseTunaConf(data)
	}
	p := &Profile{Origin: "a profile of piton"}
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, tomlError(err)
	}
	c := checker{places: findPlaces(data)}
	c.profile(p)
	if c.err != nil {
		return nil, c.err
	}
	return p, nil
}

// tomlError translates the decoder's errors, which carry their places.
func tomlError(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := &strict.Errors[0]
		line, column := e.Position()
		return &Error{line, column, "there is no setting " + quoted(strings.Join(e.Key(), "."))}
	}
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
