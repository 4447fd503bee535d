package record

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"piton/internal/sample"
	"piton/internal/topology"
)

// Options is what a Writer is told of its samples.
type Options struct {
	Version  string
	Names    Names // "" is NamesFull
	Topology *topology.Topology
}

// Writer writes samples to a file. The first error ends it.
type Writer struct {
	w      io.Writer
	names  Names
	header []byte
	mark   []byte
	zip    *zstd.Encoder
	packed bytes.Buffer
	raw    []byte // reused, as out
	out    []byte
	texts  *texts
	last   *state
	most   int // samples of a block
	left   int // that it still takes
	err    error
}

// NewWriter writes nothing yet.
func NewWriter(w io.Writer, o Options) (*Writer, error) {
	if o.Names == "" {
		o.Names = NamesFull
	}
	header, err := json.Marshal(Header{Version: o.Version, Names: o.Names, Tables: Tables(), Topology: o.Topology})
	if err != nil {
		return nil, err
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	mark := append([]byte(magic), make([]byte, markBytes-len(magic))...)
	_, _ = rand.Read(mark[len(magic):]) // never fails
	return &Writer{w: w, names: o.Names, header: header, mark: mark, zip: zip, most: blockSamples}, nil
}

// Write adds a sample, in one write.
func (w *Writer) Write(s *sample.Sample) error {
	if w.err != nil {
		return w.err
	}
	w.out = w.out[:0]
	if w.left == 0 {
		w.begin(s)
	}
	now := rowsOf(s, w.last, w.names)
	if most := taskRows.most(); len(now.tasks) > most {
		w.err = fmt.Errorf("%d processes are more than a record takes, %d", len(now.tasks), most)
		return w.err
	}
	w.sample(now)
	if w.err == nil {
		_, w.err = w.w.Write(w.out)
	}
	w.last = now
	w.left--
	return w.err
}

// begin begins a block.
func (w *Writer) begin(s *sample.Sample) {
	w.left, w.last, w.texts = w.most, &state{}, newTexts()
	w.zip.Reset(&w.packed)
	w.out = append(w.out, w.mark...)
	w.out = binary.LittleEndian.AppendUint64(w.out, uint64(s.Wall.UnixNano()))
	w.chunk(kindHeader, w.header, w.out[markBytes:])
}

func (w *Writer) sample(now *state) {
	var all []byte
	for i, t := range tables {
		rows := t.encode(nil, w.last, now, w.texts)
		all = binary.AppendUvarint(all, uint64(1+i))
		all = binary.AppendUvarint(all, uint64(len(rows)))
		all = append(all, rows...)
	}
	x := w.texts
	w.raw = binary.AppendUvarint(w.raw[:0], uint64(len(x.list)-x.written))
	for _, s := range x.list[x.written:] {
		w.raw = binary.AppendUvarint(w.raw, uint64(len(s)))
		w.raw = append(w.raw, s...)
	}
	x.written = len(x.list)
	w.raw = append(append(w.raw, all...), 0)
	w.chunk(kindSample, w.raw, nil)
}

// chunk adds one to out; its CRC is of before, too.
func (w *Writer) chunk(kind byte, raw, before []byte) {
	if len(raw) >= mostRaw {
		w.err = errors.New("the sample is larger than a record takes")
		return
	}
	w.packed.Reset()
	_, err := w.zip.Write(append(binary.AppendUvarint(nil, uint64(len(raw)+1)), kind))
	if err == nil {
		_, err = w.zip.Write(raw)
	}
	if w.err = errors.Join(err, w.zip.Flush()); w.err != nil {
		return
	}
	sum := crc32.Update(crc32.Checksum(before, crcTable), crcTable, w.packed.Bytes())
	w.out = binary.LittleEndian.AppendUint32(w.out, uint32(w.packed.Len()))
	w.out = binary.LittleEndian.AppendUint32(w.out, sum)
	w.out = append(w.out, w.packed.Bytes()...)
}
