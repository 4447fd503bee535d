package bpf

import (
	"errors"
	"io"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
)

// seqWalk reads the records of all threads from a file. The kernel calls cond_resched
// after each (BPF_ITER_RESCHED of kernel/bpf/task_iter.c), in the order of numbers.
type seqWalk struct {
	*walkCommon
	objects  *ebpf.Collection
	iterator *link.Iter
	records  []Record // reused
	threads  []Thread // reused
}

func openSeqWalk() (*Walk, error) {
	spec, err := object.Spec(seqObject)
	if err != nil {
		return nil, err
	}
	if err := prepareWalk(spec); err != nil {
		return nil, err
	}
	objects, err := object.Load(walkName, spec)
	if err != nil {
		return nil, err
	}
	s := &seqWalk{objects: objects}
	if s.walkCommon, err = newWalkCommon(objects); err == nil {
		s.iterator, err = link.AttachIter(link.IterOptions{Program: objects.Programs["dump"]})
	}
	if err != nil {
		s.close()
		return nil, object.Explain(walkName, err)
	}
	return &Walk{rung: s, name: RungSeq, common: s.walkCommon}, nil
}

func (s *seqWalk) read(all bool) ([]Record, []Thread, error) {
	if err := s.begin(all); err != nil {
		return nil, nil, err
	}
	file, err := s.iterator.Open()
	if err != nil {
		return nil, nil, err
	}
	s.records, err = readRecords(file, s.records[:0])
	file.Close()
	if err != nil {
		return nil, nil, err
	}
	if err := s.end(); err != nil {
		return nil, nil, err
	}
	// The kernel runs the program again for a record that did not fit a page, so
	// its own counts are too high.
	s.state.tasks, s.state.maskOverflow = uint32(len(s.records)), 0
	for i := range s.records {
		if s.records[i].Mask == NoMask {
			s.state.maskOverflow++
		}
	}
	s.threads = s.threads[:0]
	if all {
		return s.records, nil, nil
	}
	s.records = slices.DeleteFunc(s.records, func(r Record) bool {
		if !r.IsProcess() {
			s.threads = append(s.threads, r.Thread)
		}
		return !r.IsProcess()
	})
	return s.records, s.threads, nil
}

// recordBytes is the size of a record in the file.
const recordBytes = int(unsafe.Sizeof(Record{}))

// chunk is how many records there is room for before each read; the kernel
// hands out 8 pages at most.
const chunk = 1024

// readRecords reads to the end of the file. Reads may end inside a record.
func readRecords(file io.Reader, into []Record) ([]Record, error) {
	filled := 0 // bytes
	for {
		begun := (filled + recordBytes - 1) / recordBytes // Grow keeps only these
		into = slices.Grow(into[:begun], chunk)
		n, err := file.Read(object.BytesOfAll(into[:cap(into)])[filled:])
		filled += n
		if errors.Is(err, io.EOF) {
			return into[:filled/recordBytes], nil
		}
		if err != nil {
			return into[:0], err
		}
	}
}

func (s *seqWalk) recordsBytes() int { return 0 }

func (s *seqWalk) close() {
	if s.iterator != nil {
		s.iterator.Close()
	}
	s.objects.Close()
}
