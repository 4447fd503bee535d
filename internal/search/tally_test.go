package search

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tally counts what searches of worlds of one kind came to.
type tally struct {
	worlds, right, kept, worse, periods, most int
	lost                                      float64 // share of throughput, summed over worlds
}

// within is how near the best counts as the best: 2 %.
var within = math.Log(1.02)

// searches runs the real search in so many worlds, a tenth of them under -short.
func searches(t *testing.T, worlds, kind, n int, rough bool, alter func(*noise, *rand.Rand)) tally {
	t.Helper()
	if testing.Short() {
		worlds /= 10
	}
	s := tally{worlds: worlds}
	for seed := range worlds {
		w := newWorld(seed, kind, n, rough)
		if alter != nil {
			alter(&w.noise, w.rng)
		}
		r, err := Run(context.Background(), len(w.effects), Options{Seed: uint64(seed)}, w.measure, nil)
		require.NoError(t, err)
		require.LessOrEqual(t, r.Periods, DefaultPeriods(len(w.effects)))
		best := 0.0
		for _, e := range w.effects {
			best = max(best, e)
		}
		if w.effects[r.Kept] >= best-within {
			s.right++
		}
		if r.Kept != 0 {
			s.kept++
		}
		if w.effects[r.Kept] < -within {
			s.worse++
		}
		s.periods += r.Periods
		s.most = max(s.most, r.Periods)
		s.lost += w.lost / float64(w.periods)
	}
	t.Logf("%-9s n %2d rough %-5v: %d worlds, right %.1f %%, kept %.1f %%, 2 %% worse %d, periods %.0f (most %d), lost %.1f %%",
		kinds[kind].name, n, rough, worlds, s.percent(s.right), s.percent(s.kept), s.worse,
		float64(s.periods)/float64(worlds), s.most, 100*s.lost/float64(worlds))
	return s
}

func (s tally) percent(count int) float64 { return 100 * float64(count) / float64(s.worlds) }

// TestBestIsFound: the best, or one within 2 % of it, is kept in 96 of 100 worlds with
// noise as measured and 80 of 100 rough ones; none that is 2 % worse than the default is;
// 8 candidates take 130 periods at most; and where all are 5 to 40 % worse, the process
// loses 8 % of its throughput over the search at most.
func TestBestIsFound(t *testing.T) {
	numbers := []int{0, 3, 8, 20}
	if testing.Short() {
		numbers = []int{0, 8}
	}
	for _, n := range numbers {
		for _, tc := range []struct {
			rough bool
			want  float64
		}{{false, 96}, {true, 80}} {
			t.Run(fmt.Sprintf("n=%d rough=%v", n, tc.rough), func(t *testing.T) {
				t.Parallel()
				right := 0.0
				for kind := range mixed {
					s := searches(t, 400, kind, n, tc.rough, nil)
					right += s.percent(s.right) / mixed
					assert.Zero(t, s.worse)
					if kinds[kind].name == "all worse" {
						assert.LessOrEqual(t, 100*s.lost/float64(s.worlds), 8.0)
						assert.Zero(t, s.kept)
					}
					if n == 8 {
						assert.LessOrEqual(t, s.most, 130)
					}
				}
				t.Logf("right %.1f %%", right)
				assert.GreaterOrEqual(t, right, tc.want)
			})
		}
	}
}

// TestNothingIsKeptForNothing: where placement does not matter, the default is kept in 95
// of 100 worlds, whatever the noise.
func TestNothingIsKeptForNothing(t *testing.T) {
	for name, alter := range map[string]func(*noise, *rand.Rand){"as measured": nil, "floating": floating, "walking": walking} {
		for _, rough := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s rough=%v", name, rough), func(t *testing.T) {
				t.Parallel()
				s := searches(t, 1000, 0, 0, rough, alter)
				assert.LessOrEqual(t, s.percent(s.kept), 5.0)
			})
		}
	}
}

// TestOtherNoise is TestBestIsFound in noises that the regression does not assume. A
// floating sd exceeds what was measured by a third on average.
func TestOtherNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; make long runs it")
	}
	for _, tc := range []struct {
		name  string
		alter func(*noise, *rand.Rand)
		rough bool
		want  float64
	}{
		{"floating", floating, false, 94}, {"floating", floating, true, 79},
		{"walking", walking, false, 96}, {"walking", walking, true, 80},
	} {
		t.Run(fmt.Sprintf("%s rough=%v", tc.name, tc.rough), func(t *testing.T) {
			t.Parallel()
			right := 0.0
			for kind := range mixed {
				s := searches(t, 400, kind, 0, tc.rough, tc.alter)
				right += s.percent(s.right) / mixed
				assert.Zero(t, s.worse)
			}
			t.Logf("right %.1f %%", right)
			assert.GreaterOrEqual(t, right, tc.want)
		})
	}
}

// TestStallIsNoReason: a candidate whose only period of the first round stands still is not
// out for that. Without a second look the one that doubles the rate was lost in 4 of 100 worlds,
// of which 5 % of the periods are stalls.
func TestStallIsNoReason(t *testing.T) {
	t.Parallel()
	double := slices.IndexFunc(kinds, func(k kind) bool { return k.name == "+100 %" })
	for _, n := range []int{3, 8} {
		s := searches(t, 1000, double, n, false, stalling)
		assert.GreaterOrEqual(t, s.percent(s.right), 99.0)
	}
}

// TestFivePercentOfEight: a +5 % is found as often as by the policy that FACTS recommends,
// 89 %, or more.
func TestFivePercentOfEight(t *testing.T) {
	t.Parallel()
	s := searches(t, 1000, 1, 8, false, nil)
	assert.GreaterOrEqual(t, s.percent(s.kept), 89.0)
}

// TestFewCandidates holds searches of one and two candidates to the same promises. What is
// found is what was found before there was a race of one: of 3,000 worlds with one
// candidate +5 % in 98.4 and rough 75.4 %, +10 % in 100 and 97.0 %.
func TestFewCandidates(t *testing.T) {
	for _, tc := range []struct {
		n                  int
		rough              bool
		five, ten, nothing float64 // found, found and kept at most
	}{
		{2, false, 96, 99, 5}, {2, true, 71, 93, 5},
		{3, false, 91, 97, 5}, {3, true, 62, 86, 5},
	} {
		t.Run(fmt.Sprintf("n=%d rough=%v", tc.n, tc.rough), func(t *testing.T) {
			t.Parallel()
			s := searches(t, 1000, 0, tc.n, tc.rough, nil)
			assert.LessOrEqual(t, s.percent(s.kept), tc.nothing)
			s = searches(t, 1000, 1, tc.n, tc.rough, nil)
			assert.GreaterOrEqual(t, s.percent(s.kept), tc.five)
			s = searches(t, 1000, 2, tc.n, tc.rough, nil)
			assert.GreaterOrEqual(t, s.percent(s.kept), tc.ten)
		})
	}
}

// TestLossIsBounded: where all candidates are worse, however much, the process loses 8 % of
// its throughput over the search at most.
func TestLossIsBounded(t *testing.T) {
	numbers := []int{2, 3, 8, 20}
	if testing.Short() {
		numbers = []int{2, 8}
	}
	for _, n := range numbers {
		for _, rough := range []bool{false, true} {
			t.Run(fmt.Sprintf("n=%d rough=%v", n, rough), func(t *testing.T) {
				t.Parallel()
				for kind := range kinds {
					if strings.HasPrefix(kinds[kind].name, "all ") {
						s := searches(t, 400, kind, n, rough, nil)
						assert.LessOrEqual(t, 100*s.lost/float64(s.worlds), 8.0)
						assert.Zero(t, s.kept)
					}
				}
			})
		}
	}
}
