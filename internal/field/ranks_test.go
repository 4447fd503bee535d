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
			m.Sample.Tasks = append(m.Sample.Tasks, &sample.Task{TID: kernel.TID(i + 1)})
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

// What rests shows 0.1 now and then, and stays where it is.
func TestRanksOfWhatRests(t *testing.T) {
	c, ok := Lookup("cpu_percent")
	require.True(t, ok)
	var ranks Ranks
	for tick := range 20 {
		m := &model.Model{Sample: &sample.Sample{Tasks: []*sample.Task{{TID: 1}, {TID: 2}, {TID: 3}, {TID: 4}}}, Tasks: make([]model.Task, 4)}
		m.Tasks[1+tick%2].CPUPercent = 0.1
		m.Tasks[3].CPUPercent = 0.2
		rows := []int32{0, 1, 2, 3}
		ranks.Sort(rows, m, *c, true)
		require.Equal(t, []int32{3, 0, 1, 2}, rows, "tick %d", tick)
	}
}

func TestMemoryIsOrderedAsItIs(t *testing.T) {
	c, ok := Lookup("mem_percent")
	require.True(t, ok)
	var ranks Ranks
	for _, mem := range [][]float32{{0.1, 0, 0.2}, {0.2, 0.1, 0.1}, {0, 0.1, 0.2}} {
		m := &model.Model{Sample: &sample.Sample{Tasks: []*sample.Task{{TID: 1}, {TID: 2}, {TID: 3}}}}
		for i, p := range mem {
			m.Tasks = append(m.Tasks, model.Task{MEMPercent: p, SinceTick: uint8(i) * math.MaxUint8 / 2})
		}
		rows := []int32{0, 1, 2}
		ranks.Sort(rows, m, *c, true)
		for i := range rows[1:] {
			assert.GreaterOrEqual(t, mem[rows[i]], mem[rows[i+1]], "%v", mem)
		}
	}
}

// Lists that nobody watches are ordered by the figures.
func TestSortIsStrict(t *testing.T) {
	c, ok := Lookup("cpu_percent")
	require.True(t, ok)
	m := &model.Model{Sample: &sample.Sample{Tasks: []*sample.Task{{TID: 1}, {TID: 2}, {TID: 3}, {TID: 4}}},
		Tasks: []model.Task{{SinceTick: math.MaxUint8}, {}, {CPUPercent: 0.1}, {SinceTick: math.MaxUint8}}}
	rows := []int32{0, 1, 2, 3}
	Sort(rows, m, *c, true)
	assert.Equal(t, []int32{2, 1, 0, 3}, rows)
}
