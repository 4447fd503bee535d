package stripio

import (
	"fmt"
	"os"
	"unsafe"

	"piton/internal/kernel"
)

// words are the 64-bit words of a strip.
const words = StripBytes / 8

// disk is the files in memory, which the kernel keeps in its page cache as it
// does those of tmpfs.
type disk struct {
	files []*os.File
	sums  [][]uint64 // of each strip, by file
}

func perFile(files int) int { return diskBytes / StripBytes / files }

// locate is where an application's k-th strip is: strips come from the files in
// turn, and applications begin at different strips.
func locate(app, k, files int) (file, strip int) {
	return k % files, (k/files + 7*app) % perFile(files)
}

// fill writes a strip's words and returns their sum.
func fill(strip []uint64, seed uint64) (sum uint64) {
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := range strip {
		x ^= x << 13 // xorshift64 (Marsaglia)
		x ^= x >> 7
		x ^= x << 17
		strip[i] = x
		sum += x
	}
	return sum
}

// merge copies a strip to its place in the transfer and returns the sum of its
// words.
func merge(to, from []uint64) (sum uint64) {
	to = to[:len(from)]
	for i, x := range from {
		to[i] = x
		sum += x
	}
	return sum
}

// weigh adds a strip's sum to a checksum, so that a strip in another's place shows.
func weigh(checksum, k, sum uint64) uint64 { return checksum + (2*k+1)*sum }

func newDisk(files int) (*disk, error) {
	d := &disk{}
	strip := make([]uint64, words)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&strip[0])), StripBytes)
	for f := range files {
		file, err := kernel.SharedMemory(fmt.Sprintf("stripio-%d", f), perFile(files)*StripBytes)
		if err != nil {
			return d, err
		}
		d.files = append(d.files, file)
		sums := make([]uint64, perFile(files))
		for s := range sums {
			sums[s] = fill(strip, uint64(f)<<32|uint64(s))
			if _, err := file.WriteAt(raw, int64(s)*StripBytes); err != nil {
				return d, fmt.Errorf("fill a file in memory: %w", err)
			}
		}
		d.sums = append(d.sums, sums)
	}
	return d, nil
}

// expected is the checksum of what an application merges.
func (d *disk) expected(app, strips int) (checksum uint64) {
	for k := range strips {
		file, strip := locate(app, k, len(d.files))
		checksum = weigh(checksum, uint64(k), d.sums[file][strip])
	}
	return checksum
}

func (d *disk) close() {
	for _, f := range d.files {
		_ = f.Close()
	}
}
