package tunecmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/model"
	"piton/internal/partition"
	"piton/internal/sample"
)

// TestVerificationSpans: interrupts are counted over the same time as stays.
func TestVerificationSpans(t *testing.T) {
	var at []time.Duration // when interrupts were read
	now := time.Duration(0)
	v := verification{watcher: partition.NewWatcher(cpuset.Of(1)), interrupts: func() (*irq.Snapshot, error) {
		at = append(at, now)
		return &irq.Snapshot{At: now}, nil
	}}
	s := &sample.Sample{Collectors: []sample.Collector{{Name: "ledger"}}}
	for _, elapsed := range []time.Duration{0, time.Second, 1100 * time.Millisecond} {
		now += elapsed
		require.NoError(t, v.add(&model.Model{Sample: s, Elapsed: elapsed}))
	}
	assert.Equal(t, []time.Duration{0}, at)
	assert.Equal(t, 2100*time.Millisecond, v.span)
	assert.Equal(t, v.span, now-v.before.At)

	s.Collectors = nil
	require.NoError(t, v.add(&model.Model{Sample: s, Elapsed: time.Second}), "gaps are watched all the same")
	assert.Equal(t, exit.NotPermitted, exit.Code(v.untold))
}

func TestVerifyWithoutInterrupts(t *testing.T) {
	s, err := interruptsIfAny(func() (*irq.Snapshot, error) { return nil, irq.ErrMasked })()
	require.NoError(t, err)
	assert.Empty(t, s.IRQs)
	_, err = interruptsIfAny(func() (*irq.Snapshot, error) { return nil, assert.AnError })()
	assert.ErrorIs(t, err, assert.AnError)
}
