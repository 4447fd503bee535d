package cpuset

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSetOperations(t *testing.T) {
	a, b := Of(0, 1, 63, 64, 200), Of(1, 64, 65)
	assert.Equal(t, "1,64", a.And(b).String())
	assert.Equal(t, "0-1,63-65,200", a.Or(b).String())
	assert.Equal(t, "0-1,63-65,200", b.Or(a).String())
	assert.Equal(t, "0,63,200", a.AndNot(b).String())
	assert.Equal(t, "65", b.AndNot(a).String())
	assert.True(t, a.And(b).SubsetOf(a))
	assert.False(t, a.SubsetOf(b))
	assert.True(t, Set{}.SubsetOf(b))
	assert.Equal(t, 5, a.Len())
	assert.Equal(t, CPU(0), a.First())
	assert.Equal(t, CPU(200), a.Last())
	assert.Equal(t, []CPU{0, 1, 63, 64, 200}, a.CPUs())
	assert.Equal(t, "0-1,63-64,200", a.String(), "operations leave their operands alone")
}

func TestEmptySet(t *testing.T) {
	var none Set
	assert.True(t, none.Empty())
	assert.Zero(t, none.Len())
	assert.Equal(t, CPU(-1), none.First())
	assert.Equal(t, CPU(-1), none.Last())
	assert.Equal(t, "", none.String())
	assert.Equal(t, "00000000", none.Mask())
	assert.Empty(t, none.CPUs())
	assert.True(t, Of(3).AndNot(Of(3)).Equal(none), "no zero words stay behind")
	assert.True(t, FromWords([]uint64{0, 0}).Equal(none))
}

func TestHas(t *testing.T) {
	s := Of(0, 64)
	for cpu, want := range map[CPU]bool{-1: false, 0: true, 1: false, 63: false, 64: true, 65: false, 128: false, MaxCPU: false} {
		assert.Equal(t, want, s.Has(cpu), "CPU %d", cpu)
	}
	assert.Equal(t, "", Of(-1, MaxCPU+1).String(), "numbers that no machine has are ignored")
}

func TestWordsAreCopied(t *testing.T) {
	words := []uint64{1}
	s := FromWords(words)
	words[0] = 0
	s.Words()[0] = 0
	assert.Equal(t, "0", s.String())
	var b Builder
	b.Add(1)
	first := b.Set()
	b.Add(2)
	assert.Equal(t, "1", first.String())
	assert.Equal(t, "1-2", b.Set().String())
}

func TestAddRange(t *testing.T) {
	for _, tt := range []struct {
		first, last CPU
		want        string
	}{
		{0, 0, "0"},
		{0, 63, "0-63"},
		{63, 64, "63-64"},
		{5, 200, "5-200"},
		{-7, 3, "0-3"},
		{MaxCPU, MaxCPU + 9, "65535"},
		{4, 3, ""},
		{-5, -1, ""},
		{MaxCPU + 1, MaxCPU + 2, ""},
	} {
		var b Builder
		b.AddRange(tt.first, tt.last)
		assert.Equal(t, tt.want, b.Set().String())
	}
}

func TestAllStops(t *testing.T) {
	for c := range Of(1, 2, 3).All() {
		assert.Equal(t, CPU(1), c)
		break
	}
}

func TestJSON(t *testing.T) {
	out, err := json.Marshal(map[string]Set{"affinity": Of(0, 1, 2, 8)})
	require.NoError(t, err)
	assert.Equal(t, `{"affinity":"0-2,8"}`, string(out))
	var back map[string]Set
	require.NoError(t, json.Unmarshal(out, &back))
	assert.True(t, Of(0, 1, 2, 8).Equal(back["affinity"]))
	assert.Error(t, json.Unmarshal([]byte(`{"affinity":"x"}`), &back))
}
