package irq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
)

func snapshot(at time.Duration, cpus []cpuset.CPU, counts ...uint64) *Snapshot {
	return &Snapshot{At: at, CPUs: cpus,
		IRQs:     []IRQ{{Number: 24, Counts: counts, Facts: Facts{Text: "eth0"}}},
		Named:    []Named{{Name: "LOC", Counts: counts}, {Name: "ERR", Counts: counts[:1]}},
		SoftIRQs: []Named{{Name: "NET_RX", Counts: counts}}}
}

func TestRates(t *testing.T) {
	two := []cpuset.CPU{0, 3}
	first := Next(nil, snapshot(time.Second, two, 10, 20))
	assert.Zero(t, first.Elapsed)
	assert.False(t, first.Rows[0].Rate.OK, "one reading makes no rate")
	assert.Equal(t, cpuset.CPU(-1), first.Rows[0].Rate.Top)

	next := Next(snapshot(time.Second, two, 10, 20), snapshot(3*time.Second, two, 14, 40))
	want := Rate{OK: true, PerS: 12, ByCPU: []float64{2, 10}, Top: 3, TopPerS: 10}
	assert.Equal(t, want, next.Rows[0].Rate)
	assert.Equal(t, want, next.Named[0].Rate)
	assert.Equal(t, want, next.SoftIRQs[0].Rate)
	assert.Equal(t, Rate{OK: true, PerS: 2, Top: -1}, next.Named[1].Rate, "not counted by CPU")

	quiet := Next(snapshot(time.Second, two, 10, 20), snapshot(2*time.Second, two, 10, 20))
	assert.Equal(t, Rate{OK: true, ByCPU: []float64{0, 0}, Top: -1}, quiet.Rows[0].Rate)
}

func TestRatesOfOtherCounts(t *testing.T) {
	two := []cpuset.CPU{0, 1}
	rate := func(a, b *Snapshot) Rate { return Next(a, b).Rows[0].Rate }

	assert.False(t, rate(snapshot(1, two, 10, 20), snapshot(2, two, 9, 21)).OK, "backwards")
	wrapped := rate(snapshot(time.Second, two, 1<<32-5, 0), snapshot(2*time.Second, two, 5, 0))
	assert.Equal(t, 10.0, wrapped.PerS, "the kernel counts in 32 bits")

	other := snapshot(2, two, 11, 21)
	other.IRQs[0].Text = "nvme0"
	assert.False(t, rate(snapshot(1, two, 10, 20), other).OK, "the number has another device now")

	came := rate(snapshot(time.Second, []cpuset.CPU{0}, 10), snapshot(2*time.Second, two, 13, 9))
	assert.Equal(t, Rate{OK: true, PerS: 3, ByCPU: []float64{3, 0}, Top: 0, TopPerS: 3}, came, "what CPU 1 counted before is unknown")
	left := rate(snapshot(time.Second, two, 10, 20), snapshot(2*time.Second, []cpuset.CPU{1}, 24))
	assert.Equal(t, Rate{OK: true, PerS: 4, ByCPU: []float64{4}, Top: 1, TopPerS: 4}, left)
	assert.False(t, rate(snapshot(1, two, 1, 1), snapshot(1, two, 2, 2)).OK, "no time has passed")
}

func TestRatesOfAnUnknownCount(t *testing.T) {
	two := []cpuset.CPU{0, 1}
	for _, unknown := range []int{0, 1} {
		both := []*Snapshot{snapshot(time.Second, two, 10, 20), snapshot(2*time.Second, two, 11, 21)}
		both[unknown].IRQs[0].Counts = nil
		assert.Equal(t, Rate{Top: -1}, Next(both[0], both[1]).Rows[0].Rate)
	}
}
