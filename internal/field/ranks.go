package field

import (
	"math"

	"piton/internal/kernel"
	"piton/internal/model"
)

// Ranks keeps the order of rows that change their figures a little at each tick: it
// remembers by what rate each was ordered last and lets that follow the rate, at
// once when it changes by slack or more, else slowly; what hardly does anything ranks
// as 0. The zero value is ready, nil orders by the rates themselves.
type Ranks struct {
	column    string
	model     *model.Model // that now is of
	last, now map[kernel.TID]float64
}

// slack is what a rate may change by without a row changing its place at once, in the
// column's unit (%, 1/s): about the noise of a machine that does little.
const slack = 0.3

// follow is the part of a small change that a rank makes in a tick.
const follow = 1.0 / 8

// Sort is the function Sort, with ranks.
func (r *Ranks) Sort(rows []int32, m *model.Model, c Column, desc bool) {
	switch {
	case r == nil:
	case c.rate && c.span:
		r.begin(c, m)
	default: // figures of the moment, memory too, are ordered as they are
		*r = Ranks{}
	}
	order(rows, m, c, desc, r)
}

func (r *Ranks) begin(c Column, m *model.Model) {
	if r.column != c.ID {
		*r = Ranks{column: c.ID}
	}
	if r.model != m {
		r.model, r.last, r.now = m, r.now, make(map[kernel.TID]float64, len(r.now))
	}
}

// of is the rate that a task is ordered by.
func (r *Ranks) of(tid kernel.TID, rate float64) float64 {
	if r == nil {
		return rate
	}
	rank, again := r.now[tid] // the same model is ordered again
	if !again {
		rank = rate
		if was, ok := r.last[tid]; ok && math.Abs(rate-was) < slack {
			rank = was + (rate-was)*follow
		}
		if rank >= least {
			r.now[tid] = rank
		}
	}
	if rank < most {
		return 0
	}
	return rank
}

// least and most are the rates that are shown as 0.1, which what rests shows now and then.
const least, most = 0.05, 0.15
