package kernel

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIncomingCPUsOfOwnSockets(t *testing.T) {
	server, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer server.Close()
	client, err := net.Dial("tcp4", server.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	peer, err := server.AcceptTCP()
	require.NoError(t, err)
	defer peer.Close()
	_, err = client.Write([]byte("x"))
	require.NoError(t, err)
	_, err = peer.Read(make([]byte, 1))
	require.NoError(t, err)
	file, err := peer.File()
	require.NoError(t, err)
	defer file.Close()
	cpus, err := IncomingCPUs(TID(os.Getpid()), []int{int(file.Fd()), 1 << 20})
	if err != nil {
		t.Skipf("this kernel or its rules refuse it: %v", err)
	}
	assert.GreaterOrEqual(t, cpus[0], 0)
	assert.Equal(t, -1, cpus[1], "not open")
}
