package record

import (
	"encoding/binary"
	"math"

	"piton/internal/cpuset"
	"piton/internal/sample"
)

// column is one figure of the rows of a table. The table of columns drives encoding,
// decoding and the help; its ids, units and types stand in each block.
type column[R any] struct {
	id, unit, kind string
	get            func(*R, *texts) uint64
	set            func(*R, uint64, *texts)
	guard          sample.Have // says that a task has the figure: unset when a file lacks the column
	absent         uint64      // what a row has when a file lacks the column
}

// or is the column with a value that stands for "not known".
func (c column[R]) or(absent int64) column[R] { c.absent = uint64(absent); return c }

// with is the column with the bit of Task.Have that says whether it is known.
func (c column[R]) with(bit sample.Have) column[R] { c.guard = bit; return c }

// whole is a column of whole numbers; at is where a row has it.
func whole[R any, V ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](id, unit string, at func(*R) *V) column[R] {
	return column[R]{id: id, unit: unit, kind: "int",
		get: func(r *R, _ *texts) uint64 { return uint64(*at(r)) },
		set: func(r *R, v uint64, _ *texts) { *at(r) = V(v) }}
}

// boolean is a column of true and false.
func boolean[R any](id string, at func(*R) *bool) column[R] {
	return column[R]{id: id, kind: "bool",
		get: func(r *R, _ *texts) uint64 {
			if *at(r) {
				return 1
			}
			return 0
		},
		set: func(r *R, v uint64, _ *texts) { *at(r) = v != 0 }}
}

// real is a column of 64-bit, real32 one of 32-bit floating-point numbers, by their bits.
func real[R any](id, unit string, at func(*R) *float64) column[R] {
	return column[R]{id: id, unit: unit, kind: "float64",
		get: func(r *R, _ *texts) uint64 { return math.Float64bits(*at(r)) },
		set: func(r *R, v uint64, _ *texts) { *at(r) = math.Float64frombits(v) }}
}

func real32[R any](id, unit string, at func(*R) *float32) column[R] {
	return column[R]{id: id, unit: unit, kind: "float32",
		get: func(r *R, _ *texts) uint64 { return uint64(math.Float32bits(*at(r))) },
		set: func(r *R, v uint64, _ *texts) { *at(r) = math.Float32frombits(uint32(v)) }}
}

// text is a column of texts, by their numbers in the block.
func text[R any](id string, at func(*R) *string) column[R] {
	return column[R]{id: id, kind: "text",
		get: func(r *R, t *texts) uint64 { return t.number(*at(r)) },
		set: func(r *R, v uint64, t *texts) { *at(r) = t.text(v) }}
}

// cpus is a column of sets of CPUs, as texts of the bits in little-endian words.
func cpus[R any](id string, at func(*R) *cpuset.Set) column[R] {
	return column[R]{id: id, kind: "cpus",
		get: func(r *R, t *texts) uint64 { return t.setNumber(*at(r)) },
		set: func(r *R, v uint64, t *texts) { *at(r) = t.set(v) }}
}

// mostSetBytes is what a text of a set may have: bits for all that cpuset takes.
const mostSetBytes = (int(cpuset.MaxCPU) + 1) / 8

// texts are the texts of a block, each written once. Number 0 is "".
type texts struct {
	list    []string
	bytes   int
	numbers map[string]uint64
	written int // of list
	sets    map[uint64]cpuset.Set
	last    cpuset.Set // whose number was asked for last
	lastNo  uint64
	wrong   bool // a number that the block does not have was asked for
}

func newTexts() *texts {
	return &texts{list: []string{""}, written: 1, numbers: map[string]uint64{"": 0}, sets: map[uint64]cpuset.Set{}}
}

// number is that of a text, which it gets if it is new. Where the block has no room for
// another long one, its beginning stands for it.
func (t *texts) number(s string) uint64 {
	n, known := t.numbers[s]
	if known {
		return n
	}
	if len(s) > longText && t.bytes+len(s) > mostTexts {
		return t.number(s[:longText-len(cut)] + cut)
	}
	t.add(s)
	return t.numbers[s]
}

func (t *texts) add(s string) {
	t.numbers[s] = uint64(len(t.list))
	t.list = append(t.list, s)
	t.bytes += len(s)
}

func (t *texts) text(n uint64) string {
	if n >= uint64(len(t.list)) {
		t.wrong = true
		return ""
	}
	return t.list[n]
}

func (t *texts) setNumber(s cpuset.Set) uint64 {
	if t.lastNo != 0 && s.Equal(t.last) { // mostly it is
		return t.lastNo
	}
	var b []byte
	for _, w := range s.Words() {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	t.last, t.lastNo = s, t.number(string(b))
	return t.lastNo
}

func (t *texts) set(n uint64) cpuset.Set {
	set, known := t.sets[n]
	if known {
		return set
	}
	b := t.text(n)
	if len(b)%8 != 0 || len(b) > mostSetBytes {
		t.wrong = true
		return set
	}
	words := make([]uint64, len(b)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64([]byte(b[i*8:]))
	}
	set = cpuset.FromWords(words)
	t.sets[n] = set
	return set
}

// Limits on what a block holds, for the writer and the reader.
const (
	cut       = "…"
	longText  = 256
	mostTexts = 8 << 20  // bytes of texts in a block, from where on long ones are cut
	mostRaw   = 16 << 20 // bytes of a chunk before it is compressed
	mostRows  = 64 << 20 // bytes of a table's rows in memory
)
