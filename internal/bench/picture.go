package bench

import (
	"encoding/json"
	"fmt"
)

// picture makes a Workload's Picture of a function that draws its Result.
func picture[R any](draw func(R, int) []string) func(json.RawMessage, int) ([]string, error) {
	return func(detail json.RawMessage, width int) ([]string, error) {
		var r R
		if err := json.Unmarshal(detail, &r); err != nil {
			return nil, fmt.Errorf("read the result to draw: %w", err)
		}
		return draw(r, width), nil
	}
}

// Picture draws the last valid run of the study's base placement, in lines at
// most width cells wide; none if there is no such run or nothing to draw.
func (r Results) Picture(width int) ([]string, error) {
	w, err := Lookup(r.Study.Workload)
	if err != nil || w.Picture == nil || len(r.Study.Placements) == 0 {
		return nil, nil // a workload of a newer piton has its picture there
	}
	var last *RunResult
	for i := range r.Runs {
		if run := &r.Runs[i]; run.Valid() && run.Placement == r.Study.Placements[0] {
			last = run
		}
	}
	if last == nil {
		return nil, nil
	}
	lines, err := w.Picture(last.Detail, width)
	if err != nil {
		return nil, err
	}
	return append([]string{fmt.Sprintf("%s, run %d of %d:", last.Placement, last.Index+1, r.Study.Runs)}, lines...), nil
}
