package detail

import (
	"time"

	"piton/internal/kernel"
	"piton/internal/model"
)

// rates are a thread's figures since the reading before; model.Unknown where a
// counter is missing or ran backwards.
type rates struct {
	cpu     float32 // percent of a CPU
	migPerS float32
	delay   float32 // percent of the time: runnable but waiting
}

// tally is the counters of one reading, for the rates at the next.
type tally struct {
	at       time.Time
	counters map[kernel.TID]Counters
}

// soonest is the least time between two readings that rates are computed from:
// CPU time is counted in ticks of 10 ms.
const soonest = 300 * time.Millisecond

// rate computes each thread's rates since the last reading. A reading that comes
// too soon after it, as when the cursor moves, changes none.
func (p *Pane) rate(r Reading, hz int) {
	elapsed := r.At.Sub(p.last.at)
	if p.last.counters != nil && elapsed < soonest {
		return
	}
	now := tally{at: r.At, counters: make(map[kernel.TID]Counters, len(r.Threads))}
	p.rates = make(map[kernel.TID]rates, len(r.Threads))
	for _, t := range r.Threads {
		now.counters[t.TID] = t.Counters
		unknown := rates{model.Unknown, model.Unknown, model.Unknown}
		if before, ok := p.last.counters[t.TID]; ok {
			unknown = t.since(before, elapsed.Seconds(), hz)
		}
		p.rates[t.TID] = unknown
	}
	p.last = now
}

// since are the rates over some seconds. A share is at most 100 %: the counters of
// a running thread are read a little later than the clock.
func (c Counters) since(before Counters, seconds float64, hz int) rates {
	over := func(have bool, was, now uint64, perS float64) float32 {
		if !have || now < was || seconds <= 0 {
			return model.Unknown
		}
		return float32(float64(now-was) / seconds * perS)
	}
	return rates{
		cpu:     min(over(hz > 0, before.Ticks, c.Ticks, 100/float64(max(hz, 1))), 100),
		migPerS: over(c.HaveMigrations && before.HaveMigrations, before.Migrations, c.Migrations, 1),
		delay:   min(over(c.HaveDelay && before.HaveDelay, before.RunDelayNs, c.RunDelayNs, 100/1e9), 100),
	}
}
