package ctxswitch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"piton/internal/chart"
)

// Ring is what passing the token on cost, by the medians of short batches of
// rounds, so that somebody else's turn on the CPU is in few of them.
type Ring struct {
	PassUs     float64 `json:"pass_us"`     // from one process to the next, all included
	OverheadUs float64 `json:"overhead_us"` // of the calls and the memory, in one process by itself
	// SwitchUs is the difference, as lat_ctx reports it: the switch, and what the
	// caches lost by it.
	SwitchUs   float64 `json:"switch_us"`
	BestPassUs float64 `json:"best_pass_us"`
	// RoundTripUs is the mean of all rounds: with two processes and no memory,
	// "usecs/op" of perf bench sched pipe.
	RoundTripUs float64 `json:"round_trip_us"`
}

// Of batches: the passes in one, and how many without a switch are timed first.
const (
	batchPasses  = 200
	aloneBatches = 100
)

// footprint is memory that a process touches when it has the token.
type footprint []uint64

func newFootprint(kib int) footprint {
	f := make(footprint, kib<<10/8)
	for i := range f {
		f[i] = uint64(i)
	}
	return f
}

// touch reads all of it, as lat_ctx's bread does.
func (f footprint) touch() (sum uint64) {
	for _, v := range f {
		sum += v
	}
	return sum
}

func expected(kib int) uint64 {
	n := uint64(kib) << 10 / 8
	return n*max(n, 1)/2 - n/2
}

// pass is the work of a process in the ring. Process 0 begins each round and
// times them; before, it times the same calls by itself.
func pass(j job, l link, memory footprint, r *report) error {
	if j.Index != 0 {
		for round := range j.Rounds {
			if err := onward(l, memory, byte(round), r); err != nil {
				return err
			}
		}
		return nil
	}
	var alone []float64
	for range aloneBatches {
		begin := time.Now()
		for i := range batchPasses {
			if err := l.alone(byte(i)); err != nil {
				return err
			}
			memory.touch()
		}
		alone = append(alone, perPass(begin, batchPasses))
	}
	each := max(batchPasses/j.Procs, 1)
	batches := make([]float64, 0, j.Rounds/each+1)
	first := time.Now()
	for round := 0; round < j.Rounds; {
		end := min(round+each, j.Rounds)
		n := end - round
		begin := time.Now()
		for ; round < end; round++ {
			if err := around(l, memory, byte(round), r); err != nil {
				return err
			}
		}
		batches = append(batches, perPass(begin, n*j.Procs))
	}
	pass, overhead := chart.Middle(batches), chart.Middle(alone)
	r.Ring = &Ring{
		PassUs: pass, OverheadUs: overhead, SwitchUs: max(pass-overhead, 0), BestPassUs: slices.Min(batches),
		RoundTripUs: perPass(first, j.Rounds),
	}
	return nil
}

func perPass(begin time.Time, passes int) float64 {
	return float64(time.Since(begin).Nanoseconds()) / 1e3 / float64(passes)
}

func around(l link, memory footprint, token byte, r *report) error {
	if err := l.send(token); err != nil {
		return err
	}
	return taken(l, memory, token, r)
}

func onward(l link, memory footprint, token byte, r *report) error {
	if err := taken(l, memory, token, r); err != nil {
		return err
	}
	return l.send(token)
}

func taken(l link, memory footprint, token byte, r *report) error {
	got, err := l.receive()
	if err != nil {
		return err
	}
	if got != token {
		return fmt.Errorf("token %d came where %d was due in round %d", got, token, r.Tokens)
	}
	r.Tokens++
	r.Sum += memory.touch()
	return nil
}

// takeRing sums the reports up, after checking that each process had each token
// and read its memory each time.
func (r *Result) takeRing(reports []report) error {
	passes := 0
	for _, p := range reports {
		if p.Tokens != r.Rounds {
			return fmt.Errorf("process %d had %d tokens of %d", p.Index, p.Tokens, r.Rounds)
		}
		if want := expected(r.KiB) * uint64(r.Rounds); p.Sum != want {
			return fmt.Errorf("process %d read a sum of %d where it is %d", p.Index, p.Sum, want)
		}
		passes += p.Tokens
	}
	r.Answer = strconv.Itoa(passes)
	r.Ring, r.Seconds = reports[0].Ring, reports[0].Seconds
	if r.Ring == nil {
		return errors.New("process 0 did not say what its rounds took")
	}
	return nil
}
