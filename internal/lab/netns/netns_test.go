package netns

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func namespaces(t *testing.T) (a, b *Namespace) {
	t.Helper()
	var out [2]*Namespace
	for i := range out {
		n, err := New()
		if err != nil {
			t.Skip("no network namespaces here: ", err)
		}
		t.Cleanup(n.Close)
		out[i] = n
	}
	return out[0], out[1]
}

func TestNamespacesAreJoinedByAWire(t *testing.T) {
	a, b := namespaces(t)
	if err := a.AddVeth("here", b, "there"); err != nil {
		t.Skip("no veth here: ", err)
	}
	require.Error(t, a.AddVeth("here", b, "other"), "the name is taken")
	address := netip.MustParsePrefix("10.0.0.2/30")
	require.NoError(t, a.SetUp("here", netip.MustParsePrefix("10.0.0.1/30")))
	require.NoError(t, b.SetUp("there", address))
	for _, feature := range []Offload{TSO, GSO, TxChecksum} {
		require.NoError(t, b.SetOffload("there", feature, false))
	}
	require.NoError(t, a.SetOffload("here", GRO, true))
	require.NoError(t, a.WriteSetting("here/queues/rx-0/rps_cpus", "1"))
	require.ErrorIs(t, a.WriteSetting("there/queues/rx-0/rps_cpus", "1"), os.ErrNotExist, "it is in the other namespace")
	require.Error(t, a.WriteSetting("../../../etc/passwd", ""))
	own, err := filepath.Glob("/sys/class/net/*here")
	require.NoError(t, err)
	assert.Empty(t, own, "nothing is seen from this namespace")

	client, server, err := ConnectTCP(a, b, netip.AddrPortFrom(address.Addr(), 7), 5*time.Second)
	require.NoError(t, err)
	defer client.Close()
	defer server.Close()
	_, err = server.WriteString("strip")
	require.NoError(t, err)
	got := make([]byte, 5)
	_, err = client.Read(got)
	require.NoError(t, err)
	assert.Equal(t, "strip", string(got))
	packet, caller, errno := kernel.DeliveryCPUs(int(client.Fd()))
	require.Zero(t, errno)
	assert.GreaterOrEqual(t, packet, int32(0))
	assert.GreaterOrEqual(t, caller, int32(0))
}

func TestNothingListens(t *testing.T) {
	a, b := namespaces(t)
	_, _, err := ConnectTCP(a, b, netip.MustParseAddrPort("10.0.0.2:7"), time.Second)
	assert.Error(t, err)
}
