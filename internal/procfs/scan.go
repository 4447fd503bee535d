package procfs

import (
	"fmt"
	"math"
)

// scanner walks over the bytes of one file. Its methods never fail on their
// own; malformed input leaves ok false, which the parser looks at once at the end.
type scanner struct {
	b  []byte
	i  int
	ok bool
}

func scan(b []byte) scanner { return scanner{b: b, ok: true} }

func (s *scanner) spaces() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t') {
		s.i++
	}
}

// word returns the next run of bytes other than blanks and newlines.
func (s *scanner) word() []byte {
	s.spaces()
	start := s.i
	for s.i < len(s.b) && s.b[s.i] > ' ' {
		s.i++
	}
	if start == s.i {
		s.ok = false
	}
	return s.b[start:s.i]
}

// uint reads an unsigned decimal number.
func (s *scanner) uint() uint64 {
	s.spaces()
	start, n := s.i, uint64(0)
	for s.i < len(s.b) {
		d := uint64(s.b[s.i] - '0')
		if d > 9 {
			break
		}
		if n > (math.MaxUint64-d)/10 {
			s.ok = false
			return 0
		}
		n = n*10 + d
		s.i++
	}
	if start == s.i {
		s.ok = false
	}
	return n
}

// int reads a decimal number with an optional minus sign.
func (s *scanner) int() int64 {
	s.spaces()
	negative := s.i < len(s.b) && s.b[s.i] == '-'
	if negative {
		s.i++
	}
	n := s.uint()
	if n > math.MaxInt64 {
		s.ok = false
		return 0
	}
	if negative {
		return -int64(n)
	}
	return int64(n)
}

// skip passes over n words.
func (s *scanner) skip(n int) {
	for range n {
		s.word()
	}
}

// more reports whether another word follows on the line.
func (s *scanner) more() bool {
	s.spaces()
	return s.i < len(s.b) && s.b[s.i] != '\n'
}

// ended reports whether all went well and no part of a word is left unread.
func (s *scanner) ended() bool {
	return s.ok && (s.i == len(s.b) || s.b[s.i] <= ' ')
}

// last reads an unsigned number that nothing follows; 0 if that is not what is there.
func (s *scanner) last() uint64 {
	n := s.uint()
	if s.ok = s.ended() && !s.more(); !s.ok {
		return 0
	}
	return n
}

// malformed is the error for input that is not what the kernel writes.
func malformed(file string, b []byte) error {
	const shown = 60
	if len(b) > shown {
		b = b[:shown]
	}
	return fmt.Errorf("malformed %s: %q", file, b)
}
