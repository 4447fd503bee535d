// Package record keeps samples in a file and gives them back: what internal/model makes of
// them is what it made of them live. It is pure: it reads and writes by io and asks the
// machine nothing. cmd/piton/help/record-file.md describes the format.
//
// Start at Writer and Reader; tables.go is what is recorded.
package record

import (
	"hash/crc32"

	"piton/internal/topology"
)

// blockSamples is the most samples of a block, and so what damage costs.
const blockSamples = 60

// window is how far back zstd refers to: differences are small, so more of it finds little.
const window = 128 << 10

// magic begins a mark. Read as the length of a chunk it is too large.
const magic = "piton\x01\xf1\xff"

const markBytes = len(magic) + 8

// crcTable is of CRC-32C (RFC 3720), for which CPUs have an instruction.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// What a chunk is.
const (
	kindHeader = 'H'
	kindSample = 'S'
)

// Header is what a block says about itself and the machine.
type Header struct {
	Version  string // of the piton that recorded
	Names    Names
	Tables   []TableHeader
	Topology *topology.Topology
}

// TableHeader describes a table.
type TableHeader struct {
	Name    string
	Columns []ColumnHeader
}

// ColumnHeader describes a column: int, bool, float64, float32, text or cpus.
type ColumnHeader struct {
	ID   string
	Unit string `json:",omitempty"`
	Type string
}

// coder is a table of some type of rows.
type coder interface {
	header() TableHeader
	encode(dst []byte, before, now *state, x *texts) []byte
	decoder(h *TableHeader) decoder
}

// decoder reads the rows of a table with the columns of a block.
type decoder func(in *input, before, now *state, x *texts) error

// bound is a table with its place in a state.
type bound[R any] struct {
	*table[R]
	rows func(*state) *[]*R
}

func (b bound[R]) header() TableHeader {
	h := TableHeader{Name: b.name}
	for i := range b.columns {
		h.Columns = append(h.Columns, ColumnHeader{b.columns[i].id, b.columns[i].unit, b.columns[i].kind})
	}
	return h
}

func (b bound[R]) encode(dst []byte, before, now *state, x *texts) []byte {
	return b.table.encode(dst, *b.rows(before), *b.rows(now), x)
}

func (b bound[R]) decoder(h *TableHeader) decoder {
	known, missing := b.resolve(h.Columns)
	return func(in *input, before, now *state, x *texts) (err error) {
		for _, c := range missing {
			now.lacks |= c.guard
		}
		*b.rows(now), err = b.decode(in, *b.rows(before), known, missing, x)
		return err
	}
}

// tables are all of them, in the order in which they are written.
var tables = []coder{
	bound[moment]{&moments, func(s *state) *[]*moment { return &s.moment }},
	bound[cpuRow]{&cpuRows, func(s *state) *[]*cpuRow { return &s.cpus }},
	bound[task]{&taskRows, func(s *state) *[]*task { return &s.tasks }},
	bound[thread]{&threadRows, func(s *state) *[]*thread { return &s.threads }},
	bound[moveRow]{&moveRows, func(s *state) *[]*moveRow { return &s.moves }},
	bound[collector]{&collectorRows, func(s *state) *[]*collector { return &s.collectors }},
	bound[cpuGroup]{&cpuGroupRows, func(s *state) *[]*cpuGroup { return &s.groups }},
	bound[wait]{&waitRows, func(s *state) *[]*wait { return &s.waits }},
}

// Tables describes what is recorded.
func Tables() (all []TableHeader) {
	for _, t := range tables {
		all = append(all, t.header())
	}
	return all
}
