package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/userfile"
)

// History is what a Store holds.
type History struct {
	Studies []bench.Results // oldest first
	Grids   []bench.Grid    // oldest first; their cells are in Studies
	// Notes say in words what was wrong with the file and where it went.
	Notes []string
	newer int            // lines of a version above recordVersion, which are not in it
	index map[string]int // study ID to place in Studies
}

// Read returns everything that was kept. Lines that cannot be read are moved to
// CorruptPath and noted; those of a newer version are noted and stay. A file that is
// not there yet is an empty History.
func (s *Store) Read() (History, error) {
	if s == nil {
		return History{}, nil
	}
	h, bad, err := s.scan(ignore)
	if err != nil {
		return History{}, err
	}
	if bad > 0 {
		// Once more under the lock: what looked bad may have been half written.
		err = s.locked(func() (err error) {
			if h, bad, err = s.scan(ignore); err != nil || bad == 0 {
				return err
			}
			return s.moveAside()
		})
	}
	switch {
	case err != nil:
		h.Notes = append(h.Notes, fmt.Sprintf("%s could not be read, left in %s: %v", chart.Plural(bad, "line"), s.path, err))
	case bad > 0:
		h.Notes = append(h.Notes, fmt.Sprintf("%s of %s could not be read, moved to %s", chart.Plural(bad, "line"), s.path, s.CorruptPath()))
	}
	if h.newer > 0 {
		h.Notes = append(h.Notes, fmt.Sprintf("%s of %s skipped: written by a newer piton, in a version of the format above %d", chart.Plural(h.newer, "line"), s.path, recordVersion))
	}
	return h, nil
}

// scan is readHistory of the file.
func (s *Store) scan(sort func(line []byte, good bool) error) (h History, bad int, err error) {
	f, err := userfile.OpenState(s.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return h, 0, nil
	}
	if err != nil {
		return h, 0, fmt.Errorf("read results: %w", err)
	}
	defer f.Close()
	if h, bad, err = readHistory(f, sort); err != nil {
		err = fmt.Errorf("read results %s: %w", s.path, err)
	}
	return h, bad, err
}

// The limits on what is read: bytes of one record, and records.
const maxRecord, maxRecords = 4 << 20, 200_000

// readHistory reads the lines of a results file and hands each to sort, with its newline: good
// ones are JSON objects with a type, those of an unknown type or a newer version included (a
// newer piton wrote them). bad counts the others; one above maxRecord is handed over in parts.
func readHistory(in io.Reader, sort func(line []byte, good bool) error) (h History, bad int, err error) {
	h.index = map[string]int{}
	buffer := bufio.NewReaderSize(in, maxRecord)
	for n, long := 0, false; ; {
		line, err := buffer.ReadSlice('\n')
		part := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !part && !errors.Is(err, io.EOF) {
			return History{}, bad, err
		}
		last := err != nil && !part
		if !part && !long {
			line = bytes.TrimSpace(line)
		}
		if len(line) > 0 {
			good := !part && !long && h.add(line) == nil
			if !good && !long {
				bad++
			}
			if n++; n > maxRecords {
				return History{}, bad, fmt.Errorf("it has more than %d records; move it away to begin a new one", maxRecords)
			}
			if !part && line[len(line)-1] != '\n' {
				line = append(line, '\n')
			}
			if err := sort(line, good); err != nil {
				return History{}, bad, err
			}
		}
		if last {
			return h, bad, nil
		}
		long = part
	}
}

// ignore is for a reader who wants the records alone.
func ignore([]byte, bool) error { return nil }

func (h *History) add(line []byte) error {
	var kind struct {
		Type string `json:"type"`
		V    int    `json:"v"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	switch {
	case kind.Type == "":
		return errors.New("not a record")
	case kind.V > recordVersion:
		h.newer++
	case kind.Type == "study":
		return read(line, h.addStudy)
	case kind.Type == "grid":
		return read(line, h.addGrid)
	case kind.Type == "run":
		return read(line, h.addRun)
	}
	return nil
}

func read[R any](line []byte, add func(R)) error {
	var rec R
	err := json.Unmarshal(line, &rec)
	if err == nil {
		add(rec)
	}
	return err
}

func (h *History) addStudy(rec studyRecord) {
	r := h.of(rec.ID)
	runs := r.Runs
	*r = rec.results()
	r.Runs = runs
}

func (h *History) addRun(rec runRecord) {
	r := h.of(rec.Study)
	r.Runs = append(r.Runs, rec.result())
	if r.Study.Workload == "" { // its own line is lost
		r.Study.Workload, r.Started = rec.Workload, rec.Started
	}
	if !slices.Contains(r.Study.Placements, rec.Placement) {
		r.Study.Placements = append(r.Study.Placements, rec.Placement)
	}
}

func (h *History) addGrid(rec gridRecord) {
	rec.Budget = seconds(rec.BudgetS)
	if i := slices.IndexFunc(h.Grids, func(g bench.Grid) bool { return g.ID == rec.ID }); i >= 0 {
		h.Grids[i] = rec.Grid
		return
	}
	h.Grids = append(h.Grids, rec.Grid)
}

// of returns the study with that ID, made anew when it is not there yet.
func (h *History) of(id string) *bench.Results {
	i, known := h.index[id]
	if !known {
		i = len(h.Studies)
		h.index[id] = i
		h.Studies = append(h.Studies, bench.Results{ID: id})
	}
	return &h.Studies[i]
}

// Cells are the studies of a grid, in the order in which they were planned.
func (h History) Cells(grid string) []bench.Results {
	return slices.DeleteFunc(slices.Clone(h.Studies), func(r bench.Results) bool { return r.Study.Grid != grid })
}

// Before is the last study of the same work on the same host that was made before
// this one and can be compared with it.
func (h History) Before(now bench.Results) *bench.Earlier {
	all := h.On(now.Conditions.Host)
	// By their order in the file: clocks are set back.
	if at := slices.IndexFunc(all, func(r bench.Results) bool { return r.ID == now.ID }); at >= 0 {
		all = all[:at]
	}
	for _, then := range slices.Backward(all) {
		if e, ok := bench.Against(now, then); ok {
			return &e
		}
	}
	return nil
}

// On are the studies made on a host.
func (h History) On(host string) []bench.Results {
	return slices.DeleteFunc(slices.Clone(h.Studies), func(r bench.Results) bool { return r.Conditions.Host != host })
}
