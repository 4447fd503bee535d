package simulate

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The environment of make simulate.
const (
	seedsVariable = "SEEDS" // how many
	seedVariable  = "SEED"  // the only one, with its history
)

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, variable)
	return n
}

func files(t *testing.T) string {
	root := t.TempDir()
	require.NoError(t, Files(root))
	return root
}

// search runs so many seeds after from on all CPUs, and returns the first that violates an
// invariant, 0 for none.
func search(root string, from, seeds uint64) (first uint64, steps int64) {
	var next, found atomic.Uint64
	var all atomic.Int64
	next.Store(from)
	seeds += from
	found.Store(seeds + 1)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := next.Add(1); seed <= seeds && seed < found.Load(); seed = next.Add(1) {
				r := Run(root, seed, false)
				all.Add(int64(r.Steps))
				for old := found.Load(); r.Violation != "" && seed < old && !found.CompareAndSwap(old, seed); old = found.Load() {
				}
			}
		})
	}
	group.Wait()
	if found.Load() > seeds {
		return 0, all.Load()
	}
	return found.Load(), all.Load()
}

func report(t *testing.T, root string, seed uint64) {
	r := Run(root, seed, true)
	for _, line := range r.History {
		fmt.Println(line)
	}
	if r.Violation != "" {
		t.Errorf("seed %d: %s\nSEED=%d make simulate runs it alone", seed, r.Violation, seed)
	}
}

func TestSimulate(t *testing.T) {
	root := files(t)
	if seed := number(t, seedVariable, 0); seed != 0 {
		report(t, root, seed)
		return
	}
	simulate(t, root, 0, number(t, seedsVariable, 200))
}

// TestSimulateStanding is TestSimulate of pitons that change tasks as rules do.
func TestSimulateStanding(t *testing.T) {
	if number(t, seedVariable, 0) != 0 {
		t.Skip("TestSimulate runs one seed alone")
	}
	simulate(t, files(t), StandingSeeds, number(t, seedsVariable, 200))
}

func simulate(t *testing.T, root string, from, seeds uint64) {
	start := time.Now()
	bad, steps := search(root, from, seeds)
	if bad != 0 {
		report(t, root, bad)
		return
	}
	took := time.Since(start)
	fmt.Printf("%d histories, %d steps, %.0f histories/s\n", seeds, steps, float64(seeds)/took.Seconds())
}

// TestSameSeedSameHistory is what lets a seed be run again.
func TestSameSeedSameHistory(t *testing.T) {
	root := files(t)
	for seed := range uint64(50) {
		first, second := Run(root, seed+1, true), Run(root, seed+1, true)
		assert.Equal(t, first.History, second.History)
	}
}
