package field

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
)

func TestRanksKeepTheOrderOfSmallChanges(t *testing.T) {
	c, ok := Lookup("cpu_percent")
	require.True(t, ok)
	var ranks Ranks
	order := func(percents ...float32) []int32 {
		m := &model.Model{Sample: &sample.Sample{}}
		var rows []int32
		for i, p := range percents {
			task := model.Task{CPUPercent: p}
			if p == 0 {
				task.SinceTick = math.MaxUint8
			}
			m.Tasks = append(m.Tasks, task)
			m.Sample.Tasks = append(m.Sample.Tasks, sample.Task{TID: kernel.TID(i + 1)})
			rows = append(rows, int32(i))
		}
		ranks.Sort(rows, m, *c, true)
		first := append([]int32(nil), rows...)
		ranks.Sort(rows, m, *c, true)
		assert.Equal(t, first, rows, "the same model has the same order")
		return rows
	}
	assert.Equal(t, []int32{1, 2, 0}, order(0, 0.6, 0.4))
	assert.Equal(t, []int32{1, 2, 0}, order(0, 0.4, 0.6), "it is noise")
	assert.Equal(t, []int32{2, 1, 0}, order(0, 0.4, 1.5))
	for range 20 {
		order(0, 0.6, 1.5)
	}
	assert.Equal(t, []int32{2, 1, 0}, order(0, 1.2, 1.4))
	for range 20 {
		order(0, 1.5, 1.3)
	}
	assert.Equal(t, []int32{1, 2, 0}, order(0, 1.5, 1.3), "it has lasted")
	assert.Equal(t, []int32{0, 1, 2}, order(9, 1.5, 1.3))
}
