package bench

import (
	"fmt"
	"slices"

	"piton/workloads"
	"piton/workloads/workload"
)

// Last is the last valid run of a placement.
func (r Results) Last(p Placement) (RunResult, bool) {
	for _, run := range slices.Backward(r.Runs) {
		if run.Placement == p && run.Valid() {
			return run, true
		}
	}
	return RunResult{}, false
}

// Drawn is what the study's workload makes of a run's Detail, nil where it draws
// nothing or is one of a newer piton.
func (r Results) Drawn(run RunResult) (workload.Result, error) {
	w, err := workloads.Find(r.Study.Workload)
	if err != nil || w.Result == nil {
		return nil, nil
	}
	return w.Result(run.Detail)
}

// Picture draws the last valid run of the study's base placement, in lines at
// most width cells wide; none if there is no such run or nothing to draw.
func (r Results) Picture(width int) ([]string, error) {
	if len(r.Study.Placements) == 0 {
		return nil, nil
	}
	last, ok := r.Last(r.Study.Placements[0])
	if !ok {
		return nil, nil
	}
	drawn, err := r.Drawn(last)
	if drawn == nil || err != nil {
		return nil, err
	}
	lines := drawn.Picture(width)
	return append([]string{fmt.Sprintf("%s, run %d of %d:", last.Placement, last.Index+1, r.Study.Runs)}, lines...), nil
}
