package netns

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	lo, err := Find(1)
	require.NoError(t, err)
	assert.Equal(t, 1, lo.Index)
	assert.Equal(t, "lo", lo.Name)
	assert.Positive(t, lo.MTU)
	assert.Equal(t, -1, lo.NetNsID)
	_, err = Find(1 << 30)
	require.ErrorIs(t, err, ErrGone)
}

func TestOtherEnd(t *testing.T) {
	var both [2]*Namespace
	for i := range both {
		n, err := New()
		if err != nil {
			t.Skip("no network namespaces here: ", err)
		}
		defer n.Close()
		both[i] = n
	}
	if err := both[0].AddVeth("here", both[1], "there"); err != nil {
		t.Skip("no veth here: ", err)
	}
	index, err := both[0].InterfaceIndex("here")
	require.NoError(t, err)
	require.NoError(t, both[0].Do(func() error {
		for _, on := range []bool{true, false} {
			require.NoError(t, both[1].SetOffload("there", TxChecksum, on))
			i, err := Find(index)
			require.NoError(t, err)
			assert.Equal(t, "veth", i.Kind)
			assert.GreaterOrEqual(t, i.NetNsID, 0)
			got, name, err := PeerTxChecksum(i)
			require.NoError(t, err)
			assert.Equal(t, "there", name)
			assert.Equal(t, on, got)
		}
		return nil
	}))
}
