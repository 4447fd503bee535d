package action

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/sample"
)

// A task competes as it will be after the tuning that its CPUs are chosen for.
func TestCompetes(t *testing.T) {
	set := func(s ...attr.Setting) Tuning { return Tuning{Set: s} }
	task := &sample.Task{Nice: 1}
	for _, tt := range []struct {
		want     Tuning
		weight   float64
		realTime bool
	}{
		{Tuning{}, 820, false},
		{set(attr.SetNice(5), attr.Setting{Attribute: attr.Autogroup, Value: attr.NiceValue(9)}), 335, false},
		{set(attr.SetPolicy(attr.PolicyValue{Policy: kernel.Idle})), 3, false},
		{set(attr.SetPolicy(attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 1})), 820, true},
		{set(attr.SetPolicy(attr.PolicyValue{RTPrio: 1, Keep: true})), 820, false},
	} {
		weight, realTime := competes(task, tt.want)
		assert.Equal(t, tt.weight, weight)
		assert.Equal(t, tt.realTime, realTime)
	}
	assert.EqualValues(t, place.NiceZero, place.Weight(kernel.Other, 0))
}
