package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDerivedAndScaledCounters(t *testing.T) {
	counts := []Count{{"cycles", 2000, 1}, {"instructions", 3000, 0.5}, {"branches", 100, 1}, {"branch_misses", 5, 1}, {"cache_references", 0, 1}, {"cache_misses", 0, 1}}
	assert.Equal(t, []Count{{"instructions_per_cycle", 1.5, 0.5}, {"branch_miss_rate", 0.05, 1}}, Derived(counts))
	assert.Equal(t, []string{"instructions counted 50 % of the time and scaled up (too few PMU counters)"},
		countWarnings([]RunResult{{Counts: counts}, {Counts: counts}}))
}
