package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"piton/internal/cpuset"
	"piton/internal/sample"
	"piton/internal/topology"
)

// Reader reads samples in their order. What is damaged is passed over.
type Reader struct {
	r      io.ReaderAt
	size   int64
	blocks []block
	next   int   // block after the one that is read
	at     int64 // of the next chunk, end behind the last one of the block
	end    int64
	feed   bytes.Reader // what was found to be right, for unzip
	unzip  *zstd.Decoder
	raw    bytes.Buffer
	packed []byte

	header  Header
	decode  []decoder // by number in the header, nil for a table that is not known
	texts   *texts
	last    *state
	unlike  bool // there is nothing for last's successor to differ from
	damaged int
}

// block is one that was found: its first chunk is right.
type block struct {
	offset int64
	from   time.Time
}

// ErrNoRecord is the error of a file that is not one, or of which nothing can be read.
var ErrNoRecord = errors.New("it is no record of piton, or nothing of it can be read")

// NewReader finds the blocks of a file.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	f := &Reader{r: r, size: size, unzip: unzip, last: &state{}}
	if err := f.find(); err != nil {
		return nil, err
	}
	for f.next < len(f.blocks) && f.header.Topology == nil {
		f.open()
	}
	if f.header.Topology == nil {
		return nil, ErrNoRecord
	}
	f.next, f.at, f.end, f.damaged, f.last, f.unlike = 0, 0, 0, 0, &state{}, true
	if f.blocks[0].offset > 0 {
		f.damaged++
	}
	return f, nil
}

// find lists the blocks. Until one is right, their mark is only known by its beginning. What
// only looks like a block is read within a budget: somebody may have made such a file.
func (f *Reader) find() error {
	mark, budget := []byte(magic), f.size+mostRaw
	const piece = 1 << 20
	buf := make([]byte, min(int64(piece+markBytes), f.size))
	for from := int64(0); from < f.size; from += piece {
		n, err := f.r.ReadAt(buf[:min(int64(len(buf)), f.size-from)], from)
		if err != nil && err != io.EOF {
			return err
		}
		for at := 0; ; at++ {
			i := bytes.Index(buf[at:n], mark)
			if at += i; i < 0 || at >= piece || at+markBytes > n {
				break
			}
			b := block{offset: from + int64(at)}
			var when [8]byte
			if _, err := f.r.ReadAt(when[:], b.offset+int64(markBytes)); err != nil {
				break // cut
			}
			b.from = time.Unix(0, int64(binary.LittleEndian.Uint64(when[:])))
			if _, next, err := f.read(b.first(), f.size, when[:]); err != nil {
				if budget -= max(next-b.offset, 0); budget < 0 {
					return nil
				}
				continue
			}
			mark = append([]byte(nil), buf[at:at+markBytes]...)
			f.blocks = append(f.blocks, b)
		}
	}
	return nil
}

// first is where the block's first chunk is.
func (b block) first() int64 { return b.offset + int64(markBytes) + 8 }

// read reads a chunk that lies before end and whose CRC is right, and where the next one is;
// that also with the error of a CRC that is not.
func (f *Reader) read(at, end int64, before []byte) (packed []byte, next int64, err error) {
	var head [8]byte
	if at+int64(len(head)) > end {
		return nil, 0, errDamaged
	}
	if _, err := f.r.ReadAt(head[:], at); err != nil {
		return nil, 0, err
	}
	n, sum := int64(binary.LittleEndian.Uint32(head[:])), binary.LittleEndian.Uint32(head[4:])
	at += int64(len(head))
	if n == 0 || n > mostRaw || at+n > end {
		return nil, 0, errDamaged
	}
	if int64(cap(f.packed)) < n {
		f.packed = make([]byte, n)
	}
	packed = f.packed[:n]
	if _, err := f.r.ReadAt(packed, at); err != nil {
		return nil, 0, err
	}
	if crc32.Update(crc32.Checksum(before, crcTable), crcTable, packed) != sum {
		return nil, at + n, errDamaged
	}
	return packed, at + n, nil
}

// open begins the next block; a block that it cannot use is left at once.
func (f *Reader) open() {
	b := f.blocks[f.next]
	f.next++
	f.end = f.size
	if f.next < len(f.blocks) {
		f.end = f.blocks[f.next].offset
	}
	f.at, f.texts, f.last = b.first(), newTexts(), &state{sample: f.last.sample}
	_ = f.unzip.Reset(&f.feed) // its error is of the frame, and comes again with the first chunk
	when := binary.LittleEndian.AppendUint64(nil, uint64(b.from.UnixNano()))
	kind, raw, err := f.chunk(when)
	if err == nil && kind != kindHeader {
		err = errDamaged
	}
	if err == nil {
		err = f.understand(raw)
	}
	if err != nil {
		f.leave()
	}
}

// leave passes over the rest of a damaged block.
func (f *Reader) leave() {
	f.at, f.unlike = f.end, true
	f.damaged++
}

// chunk decompresses the next chunk.
func (f *Reader) chunk(before []byte) (kind byte, raw []byte, err error) {
	packed, next, err := f.read(f.at, f.end, before)
	if err != nil {
		return 0, nil, err
	}
	f.at = next
	f.feed.Reset(packed)
	n, err := binary.ReadUvarint(oneByte{f.unzip})
	if err != nil || n == 0 || n > mostRaw {
		return 0, nil, errDamaged
	}
	f.raw.Reset()
	if _, err := io.CopyN(&f.raw, f.unzip, int64(n)); err != nil {
		return 0, nil, errDamaged
	}
	return f.raw.Bytes()[0], f.raw.Bytes()[1:], nil
}

// oneByte reads no more than it is asked for.
type oneByte struct{ io.Reader }

// ReadByte reads one.
func (r oneByte) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r, b[:])
	return b[0], err
}

// understand reads a block's header.
func (f *Reader) understand(raw []byte) error {
	var h Header
	if err := json.Unmarshal(raw, &h); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if h.Topology = complete(h.Topology); h.Topology == nil {
		return errDamaged
	}
	f.header, f.decode = h, make([]decoder, len(h.Tables))
	known := map[string]coder{}
	for _, t := range tables {
		known[t.header().Name] = t
	}
	for i := range h.Tables {
		if t := known[h.Tables[i].Name]; t != nil {
			f.decode[i] = t.decoder(&h.Tables[i])
			delete(known, h.Tables[i].Name)
		}
	}
	return nil
}

// complete is a topology with what is derived from it, nil if it cannot be one.
func complete(t *topology.Topology) *topology.Topology {
	if t == nil || len(t.CPUs) == 0 {
		return nil
	}
	seen := map[cpuset.CPU]bool{}
	for i := range t.CPUs {
		id := t.CPUs[i].ID
		if !isCPU(id) || seen[id] || t.CPUs[i].Kind > topology.KindEfficiency {
			return nil
		}
		seen[id] = true
	}
	return topology.New(*t)
}

// Topology is that of the block which was read last, or of the first one.
func (f *Reader) Topology() *topology.Topology { return f.header.Topology }

// Damaged is how many damaged places were met so far.
func (f *Reader) Damaged() int { return f.damaged }

// Next returns the next sample, io.EOF after the last one. joined is whether it follows the one
// returned before without a gap, so that what it counts is since that one.
func (f *Reader) Next() (s *sample.Sample, joined bool, err error) {
	for {
		for f.at == f.end {
			if f.next == len(f.blocks) {
				return nil, false, io.EOF
			}
			f.open()
		}
		kind, raw, err := f.chunk(nil)
		now := &state{}
		if err == nil && kind == kindSample {
			err = f.rows(raw, now)
		}
		switch {
		case err != nil:
			f.leave()
			continue
		case kind != kindSample:
			continue
		}
		before := f.last.sample
		joined = !f.unlike && before != nil && before.Seq < now.sample.Seq && before.At < now.sample.At
		f.last, f.unlike = now, false
		return now.sample, joined, nil
	}
}

// rows decodes a sample.
func (f *Reader) rows(raw []byte, now *state) error {
	in := &input{b: raw}
	for range in.count() {
		b := in.take(in.count())
		if f.texts.bytes += len(b); f.texts.bytes > mostTexts+mostRaw {
			return errDamaged
		}
		f.texts.add(string(b))
	}
	for {
		i := in.uint()
		if in.err != nil || i > uint64(len(f.decode)) {
			return errDamaged
		}
		if i == 0 {
			return now.publish(f.last)
		}
		part := &input{b: in.take(in.count())}
		if decode := f.decode[i-1]; decode != nil && in.err == nil {
			if err := decode(part, f.last, now, f.texts); err != nil {
				return err
			}
		}
	}
}

// Seek goes to the block that has the time, or so many before it: what follows is read by
// Next. A time before the record is its beginning.
func (f *Reader) Seek(to time.Time, before int) {
	at := 0
	for i, b := range f.blocks {
		if !b.from.After(to) {
			at = i
		}
	}
	f.next, f.at, f.end, f.unlike = max(at-before, 0), 0, 0, true
}
