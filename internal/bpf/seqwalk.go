package bpf

import (
	"errors"
	"io"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/kernel"
)

// seqWalk reads the records of all threads from a file, and makes processes of
// them itself: the file is in the order of numbers, where a thread can stand
// before its process's first one.
type seqWalk struct {
	*walkCommon
	objects   *ebpf.Collection
	iterator  *link.Iter
	records   []Record             // reused
	processes map[kernel.TID]int32 // their records' places, within one pass
}

func openSeqWalk() (*Walk, error) {
	spec, err := loadSeq()
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
	s := &seqWalk{objects: objects, processes: map[kernel.TID]int32{}}
	if s.walkCommon, err = newWalkCommon(objects); err == nil {
		s.iterator, err = link.AttachIter(link.IterOptions{Program: objects.Programs[seqProgDump]})
	}
	if err != nil {
		s.close()
		return nil, object.Explain(walkName, err)
	}
	return &Walk{rung: s, name: RungSeq, common: s.walkCommon}, nil
}

func (s *seqWalk) read(threads bool) ([]Record, error) {
	if err := s.begin(threads, 0); err != nil {
		return nil, err
	}
	file, err := s.iterator.Open()
	if err != nil {
		return nil, err
	}
	s.records, err = readRecords(file, s.records[:0])
	file.Close()
	if err != nil {
		return nil, err
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	// The kernel runs the program again for a record that did not fit a page, so
	// its own counts are too high.
	s.state.tasks, s.state.maskOverflow = uint32(len(s.records)), 0
	for i := range s.records {
		if s.records[i].Mask == NoMask {
			s.state.maskOverflow++
		}
	}
	return sumProcesses(s.records, s.processes, threads), nil
}

// recordBytes is the size of a record, in the file and in the table.
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

// sumProcesses adds each thread to its process and, unless threads are wanted,
// drops all records but those of processes.
func sumProcesses(records []Record, at map[kernel.TID]int32, threads bool) []Record {
	clear(at)
	for i := range records {
		if r := &records[i]; r.IsProcess() {
			at[r.TID] = int32(i)
		}
	}
	for i := range records {
		t := &records[i]
		if t.IsProcess() {
			continue
		}
		if leader, ok := at[t.TGID]; ok {
			p := &records[leader]
			p.UserNs += t.UserNs
			p.SystemNs += t.SystemNs
			p.CPUNs += t.CPUNs
			p.MinorFaults += t.MinorFaults
			p.MajorFaults += t.MajorFaults
			p.Migrations += t.Migrations
			p.VoluntarySwitches += t.VoluntarySwitches
			p.InvoluntarySwitches += t.InvoluntarySwitches
			p.Load += t.Load
		}
	}
	if threads {
		return records
	}
	return slices.DeleteFunc(records, func(r Record) bool { return !r.IsProcess() })
}

func (s *seqWalk) recordsBytes() int { return 0 }

func (s *seqWalk) close() {
	if s.iterator != nil {
		s.iterator.Close()
	}
	s.objects.Close()
}
