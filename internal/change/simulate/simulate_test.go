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

	"piton/internal/change/defect"
)

// The environment of make simulate.
const (
	seedsVariable = "SEEDS" // how many
	fromVariable  = "FROM"  // the one before the first
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
// were found. A change of the code makes other histories of all seeds; these are run all the same.
var failed = []uint64{
	1559, 2325, 3084, 3700, 5284, 6812, 8863, 12658, 13549, 14835, 25898, 28003, 28851, 31720, 32724, 34083, 37945, 39412, 40599, 45333, 50359, 52204, 53478, 56437, 57502, 57776, 62963, 70407, 120774, 122181, 163656, 218362,
	4294969472, 4294975106, 4294982967, 4294987339, 4294990997, 4294996797, 4295002636, 4295009353, 4295009848, 4295012057, 4295018036, 4295025762, 4295029249, 4295030606, 4295039877, 4295040693, 4295045280, 4295049320, 4295050957, 4295060884, 4295078694, 4295087791, 4295154026, 4295161735, 4295164414, 4295166369, 4295187527, 4295197477, 4295262320, 4295319757,
	8589934867, 8589936375, 8589936528, 8589937164, 8589937335, 8589937832, 8589945084, 8589961585, 8589980598, 8589985849, 8589998463,
}

// search runs the seeds on all CPUs until most of them violate an invariant, and returns those,
// how many were taken, and how many steps there were in all.
func search(root string, seeds []uint64, most int64) (bad []uint64, taken int, steps int64) {
	var next, all, violations atomic.Int64
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
	return bad, min(int(next.Load()), len(seeds)), all.Load()
}

// searchDefect runs the seeds until one shows the defect that is put back: it violates an
// invariant, and does not without the defect.
func searchDefect(root string, seeds []uint64) (shown []uint64, steps int64) {
	for len(seeds) > 0 && len(shown) == 0 {
		bad, taken, n := search(root, seeds, 1)
		defect.Without(func() {
			bad = slices.DeleteFunc(bad, func(seed uint64) bool { return Run(root, seed, false).Violation != "" })
		})
		shown, steps, seeds = bad, steps+n, seeds[taken:]
	}
	return shown, steps
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

// TestSimulateGroups is TestSimulate with control groups, and their weights and quotas.
func TestSimulateGroups(t *testing.T) {
	if number(t, seedVariable, 0) != 0 {
		t.Skip("TestSimulate runs one seed alone")
	}
	simulate(t, files(t), GroupSeeds)
}

// kind is the kind of histories that a seed, or the one before the first, is of.
func kind(seed uint64) uint64 { return seed / StandingSeeds }

// simulate runs the seeds after from, and those after it that failed before.
func simulate(t *testing.T, root string, from uint64) {
	few := uint64(1300)
	if defect.Back() {
		few = 2000
	}
	count := number(t, seedsVariable, few)
	from += number(t, fromVariable, 0)
	var seeds []uint64
	for i := range count {
		seeds = append(seeds, from+i+1)
	}
	for _, seed := range failed {
		if kind(seed) == kind(from) && (seed <= from || seed > from+count) {
			seeds = append(seeds, seed)
		}
	}
	start := time.Now()
	var bad []uint64
	var steps int64
	if defect.Back() {
		bad, steps = searchDefect(root, seeds)
	} else {
		bad, _, steps = search(root, seeds, 20)
	}
	for i, seed := range bad {
		report(t, root, seed, i == 0)
	}
	fmt.Printf("%d histories, %d steps, %.0f histories/s\n", len(seeds), steps, float64(len(seeds))/time.Since(start).Seconds())
}

// TestSameSeedSameHistory is what lets a seed be run again.
func TestSameSeedSameHistory(t *testing.T) {
	root := files(t)
	for seed := range uint64(50) {
		seed += seed % 2 * GroupSeeds
		first, second := Run(root, seed+1, true), Run(root, seed+1, true)
		assert.Equal(t, first.History, second.History)
	}
}
