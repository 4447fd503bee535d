package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// History is what a Store holds.
type History struct {
	Studies []Results // oldest first
	Grids   []Grid    // oldest first; their cells are in Studies
	// Notes say in words what was wrong with the file and where it went.
	Notes []string
}

// Read returns everything that was kept. Lines that cannot be read are moved to
// CorruptPath and noted; a file that is not there yet is an empty History.
func (s *Store) Read() (History, error) {
	if s == nil {
		return History{}, nil
	}
	h, bad, err := s.read()
	if err != nil || len(bad) == 0 {
		return h, err
	}
	// Once more under the lock: what looked bad may have been half written.
	err = s.locked(func() error {
		content, err := os.ReadFile(s.path)
		if err != nil {
			return fmt.Errorf("read results: %w", err)
		}
		var good []byte
		if h, good, bad = ParseHistory(content); len(bad) == 0 {
			return nil
		}
		return s.moveAside(good, bytes.Join(bad, nil))
	})
	switch {
	case err != nil:
		h.Notes = append(h.Notes, fmt.Sprintf("%s cannot be read and left in %s: %v", lines(len(bad)), s.path, err))
	case len(bad) > 0:
		h.Notes = append(h.Notes, fmt.Sprintf("%s of %s cannot be read and moved to %s", lines(len(bad)), s.path, s.CorruptPath()))
	}
	return h, nil
}

func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

func (s *Store) read() (h History, bad [][]byte, err error) {
	content, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return History{}, nil, nil
	}
	if err != nil {
		return History{}, nil, fmt.Errorf("read results: %w", err)
	}
	h, _, bad = ParseHistory(content)
	return h, bad, nil
}

// ParseHistory reads the lines of a results file. good has the bytes of the
// lines that are JSON objects with a type, those of unknown type included (a
// newer piton wrote them); bad has the others, each with its newline.
func ParseHistory(content []byte) (past History, good []byte, bad [][]byte) {
	h := history{index: map[string]int{}}
	for line := range bytes.Lines(content) {
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue
		}
		whole := append(bytes.Clone(text), '\n')
		if err := h.add(text); err != nil {
			bad = append(bad, whole)
			continue
		}
		good = append(good, whole...)
	}
	return History{Studies: h.studies, Grids: h.grids}, good, bad
}

type history struct {
	studies []Results
	index   map[string]int // study ID to place in studies
	grids   []Grid
}

var errNoType = errors.New("not a record")

func (h *history) add(line []byte) error {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case "":
		return errNoType
	case "study":
		var rec studyRecord
		if err := json.Unmarshal(line, &rec); err != nil {
			return err
		}
		runs := h.of(rec.ID).Runs
		*h.of(rec.ID) = rec.results()
		h.of(rec.ID).Runs = runs
	case "grid":
		var rec gridRecord
		if err := json.Unmarshal(line, &rec); err != nil {
			return err
		}
		h.addGrid(rec)
	case "run":
		var rec runRecord
		if err := json.Unmarshal(line, &rec); err != nil {
			return err
		}
		r := h.of(rec.Study)
		r.Runs = append(r.Runs, rec.result())
		if r.Study.Workload == "" { // its own line is lost
			r.Study.Workload, r.Started = rec.Workload, rec.Started
		}
		if !slices.Contains(r.Study.Placements, rec.Placement) {
			r.Study.Placements = append(r.Study.Placements, rec.Placement)
		}
	}
	return nil
}

// of returns the study with that ID, made anew when it is not there yet.
func (h *history) of(id string) *Results {
	i, known := h.index[id]
	if !known {
		i = len(h.studies)
		h.index[id] = i
		h.studies = append(h.studies, Results{ID: id})
	}
	return &h.studies[i]
}

// Like returns the studies of the same work under the same background load on the
// same host, oldest first.
func (h History) Like(s Study, host string) []Results {
	var out []Results
	for _, r := range h.Studies {
		if sameWork(r.Study, s) && r.Conditions.Host == host {
			out = append(out, r)
		}
	}
	return out
}

func sameWork(a, b Study) bool {
	return a.Workload == b.Workload && slices.Equal(a.Args, b.Args) && a.Noise == b.Noise && a.Figure == b.Figure
}
