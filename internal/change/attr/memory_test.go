package attr

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel/kernelfake"
)

func TestPages(t *testing.T) {
	pages, ok := parsePages("0:812 1:3")
	require.True(t, ok)
	assert.Equal(t, Pages{0: 812, 1: 3}, pages)
	for _, text := range []string{"", "1", "0-1", "x:1", "1:x", "-1:5"} {
		_, ok := parsePages(text)
		assert.False(t, ok, text)
	}
}

func TestMemoryThatIsAlike(t *testing.T) {
	for _, tt := range []struct {
		a, b  string
		alike bool
	}{
		{"0:100", "0:130", true}, {"0:100", "1:100", false}, {"0:30 1:70", "0:32 1:70", true}, {"0:30 1:70", "1:100", false},
		{"1:100", "1", true}, {"1", "0:1 1:99", false}, {"0-1", "0:5 1:99", true}, {"1", "1", true}, {"0:1 1:99", "1:100", true},
		{"cpus 1", "cpus 1", true}, {"cpus 1", "1", false},
	} {
		a, err := Memory.Parse(tt.a)
		require.NoError(t, err)
		b, err := Memory.Parse(tt.b)
		require.NoError(t, err)
		assert.Equal(t, tt.alike, Memory.Alike(a, b), "%s and %s", tt.a, tt.b)
	}
	assert.False(t, Memory.Alike(nil, MemoryValue{}), "one is not known")
}

// Pages that are on the wrong nodes move to the neediest ones.
func TestDivision(t *testing.T) {
	fake := kernelfake.New(t)
	fake.Create(10, kernelfake.Task{})
	held, err := fake.Hold(10, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, held.Close()) }()
	d := division{task: held.Thread(10, 0), missing: map[int32]int64{0: -2, 1: 2}}
	require.NoError(t, d.move([]uint64{0x1000, 0x2000, 0x3000}, 1), "the fake says that all of them are on node 0")
	assert.Equal(t, []string{"MovePages(10, [1000 2000] to [1 1])"}, fake.Calls())
}
