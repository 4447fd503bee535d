package action

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/tune"
)

// A task competes as it will be after the tuning that its CPUs are chosen for.
func TestCompetes(t *testing.T) {
	nice := 5
	task := &sample.Task{Nice: 1}
	for _, tt := range []struct {
		want     Tuning
		weight   float64
		realTime bool
	}{
		{Tuning{}, 820, false},
		{Tuning{Nice: &nice}, 335, false},
		{Tuning{Policy: &tune.PolicySetting{Policy: kernel.Idle}}, 3, false},
		{Tuning{Policy: &tune.PolicySetting{Policy: kernel.FIFO, RTPrio: 1}}, 820, true},
		{Tuning{Policy: &tune.PolicySetting{RTPrio: 1, Keep: true}}, 820, false},
	} {
		weight, realTime := competes(task, tt.want)
		assert.Equal(t, tt.weight, weight)
		assert.Equal(t, tt.realTime, realTime)
	}
	assert.EqualValues(t, place.NiceZero, place.Weight(kernel.Other, 0))
}
