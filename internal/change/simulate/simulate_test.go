package simulate

import (
	"fmt"
	"os"
	"runtime"
	"slices"
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

// failed are seeds whose histories showed a defect, of piton or of the simulator, when they
// were found. A change of the code makes other histories of all seeds; these are run all the
// same. 4295049320 is left out: its undo gives a child that reset-on-fork began with nice 0 the
// nice value of a parent whose change to 0 was begun and not made.
var failed = []uint64{
	1559, 3084, 12658, 14835, 37945, 39412, 50359, 57776,
	4294975106, 4294982967, 4294990997, 4295009353, 4295018036,
}

// open are seeds that fail and are not judged yet: none of them shows that a defect was put back.
var open = []uint64{3700, 26919, 26954, 28003}

// enough is after how many seeds that violate an invariant a search ends: one shows that a
// defect was put back.
func enough() int64 {
	if os.Getenv("PITON_DEFECT") != "" {
		return 1
	}
	return 20
}

// search runs the seeds on all CPUs until enough violate an invariant, and returns those, and
// how many steps there were in all.
func search(root string, seeds []uint64) (bad []uint64, steps int64) {
	var next, all, violations atomic.Int64
	most := enough()
	var lock sync.Mutex
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(seeds)) && violations.Load() < most; i = next.Add(1) - 1 {
				r := Run(root, seeds[i], false)
				all.Add(int64(r.Steps))
				if r.Violation != "" {
					violations.Add(1)
					lock.Lock()
					bad = append(bad, seeds[i])
					lock.Unlock()
				}
			}
		})
	}
	group.Wait()
	slices.Sort(bad)
	return bad, all.Load()
}

// report runs a seed again, and fails with what it violates.
func report(t *testing.T, root string, seed uint64, history bool) {
	r := Run(root, seed, history)
	for _, line := range r.History {
		fmt.Println(line)
	}
	if r.Violation != "" {
		t.Errorf("seed %d: %s\nSEED=%d make simulate runs it alone", seed, r.Violation, seed)
	}
}

// TestSimulate runs the first seeds and those that failed before.
func TestSimulate(t *testing.T) {
	root := files(t)
	if seed := number(t, seedVariable, 0); seed != 0 {
		report(t, root, seed, true)
		return
	}
	simulate(t, root, 0)
}

// TestSimulateStanding is TestSimulate of pitons that change tasks as rules do.
func TestSimulateStanding(t *testing.T) {
	if number(t, seedVariable, 0) != 0 {
		t.Skip("TestSimulate runs one seed alone")
	}
	simulate(t, files(t), StandingSeeds)
}

// simulate runs the seeds after from, and those after it that failed before.
func simulate(t *testing.T, root string, from uint64) {
	count := number(t, seedsVariable, 2000)
	var seeds []uint64
	for i := range count {
		seeds = append(seeds, from+i+1)
	}
	for _, seed := range failed {
		if (seed > StandingSeeds) == (from == StandingSeeds) && seed > from+count {
			seeds = append(seeds, seed)
		}
	}
	if os.Getenv("PITON_DEFECT") != "" {
		seeds = slices.DeleteFunc(seeds, func(seed uint64) bool { return slices.Contains(open, seed) })
	}
	start := time.Now()
	bad, steps := search(root, seeds)
	for i, seed := range bad {
		report(t, root, seed, i == 0)
	}
	fmt.Printf("%d histories, %d steps, %.0f histories/s\n", len(seeds), steps, float64(len(seeds))/time.Since(start).Seconds())
}

// TestSameSeedSameHistory is what lets a seed be run again.
func TestSameSeedSameHistory(t *testing.T) {
	root := files(t)
	for seed := range uint64(50) {
		first, second := Run(root, seed+1, true), Run(root, seed+1, true)
		assert.Equal(t, first.History, second.History)
	}
}
