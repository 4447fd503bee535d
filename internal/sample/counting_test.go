package sample

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// fakeCounter notes what it is told.
type fakeCounter struct {
	targets []kernel.TID
	closed  bool
	fails   error
}

func (f *fakeCounter) SetTargets(ids ...kernel.TID) error { f.targets = ids; return f.fails }
func (f *fakeCounter) Close()                             { f.closed = true }

func TestCountingKeepsWhatIsOfOneProcess(t *testing.T) {
	fake := &fakeCounter{}
	var c counting[*fakeCounter]
	var kept []bool
	read := func(pid kernel.TID) error {
		return c.read(pid, func() (*fakeCounter, error) { return fake, nil },
			func(_ *fakeCounter, keep bool) error { kept = append(kept, keep); return nil })
	}
	require.NoError(t, read(1)) // attaches
	require.NoError(t, read(1))
	require.NoError(t, read(2)) // what it drains is of 1 still
	require.NoError(t, read(2))
	assert.Equal(t, []bool{true, false, true}, kept)
	assert.Equal(t, []kernel.TID{2}, fake.targets)
	fake.fails = errors.New("no")
	require.Error(t, read(3))
	c.close()
	assert.True(t, fake.closed)
	assert.Nil(t, c.kernel)
	c.close()
}

func TestCountingDoesNotTryAgain(t *testing.T) {
	var c counting[*fakeCounter]
	tried := 0
	open := func() (*fakeCounter, error) { tried++; return nil, errors.New("refused") }
	for range 2 {
		require.EqualError(t, c.read(1, open, nil), "refused")
	}
	assert.Equal(t, 1, tried)
	c.close()
}

func TestTakeInFlows(t *testing.T) {
	flow := func(consumed int, bytes uint64) Flow {
		return Flow{Flow: Socket{Cookie: 1}, Consumed: 1, Bytes: bytes, Reads: 1, Packets: 2, Interface: consumed}
	}
	n, older := Flows{Of: 7, Over: 1, List: []Flow{flow(4, 10)}}, Flows{Of: 7, Over: 2, List: []Flow{flow(3, 5)}, Lost: 1}
	takeInFlows(&n, &older)
	assert.Equal(t, Flows{Of: 7, Over: 3, Lost: 1,
		List: []Flow{{Flow: Socket{Cookie: 1}, Consumed: 1, Bytes: 15, Reads: 2, Packets: 4, Interface: 4}}}, n)
	other := Flows{Of: 8, Over: 1}
	takeInFlows(&other, &older)
	assert.Equal(t, Flows{Of: 8, Over: 1}, other, "of another process")
}
