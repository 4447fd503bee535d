package steer

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/lab/netns"
)

// transfer is how many bytes are under way when the process that steers is killed.
const transfer = 16 << 20

func TestKillInTheMiddleOfATransfer(t *testing.T) {
	_, cpu := twoCPUs(t)
	w := newWire(t)
	client, server, err := netns.ConnectTCP(w.near, w.far, farAddress, patience)
	require.NoError(t, err)
	defer client.Close()
	defer server.Close()

	var kill func()
	require.NoError(t, w.near.Do(func() error {
		cmd := bpftest.Command(strconv.Itoa(w.index), strconv.Itoa(os.Getpid()), fmt.Sprint(cpu))
		bpftest.Start(t, cmd) // it is in the namespace of the thread that starts it
		kill = func() { require.NoError(t, cmd.Process.Kill()) }
		return nil
	}))
	require.NotZero(t, w.attached(t))

	sent := make(chan []byte, 1)
	go func() {
		sum := sha256.New()
		_, err := io.CopyN(io.MultiWriter(server, sum), rand.NewChaCha8([32]byte{}), transfer)
		assert.NoError(t, err)
		sent <- sum.Sum(nil)
	}()
	sum := sha256.New()
	_, err = io.CopyN(sum, client, transfer/2)
	require.NoError(t, err)
	require.NotZero(t, w.attached(t), "still steered")
	kill()
	_, err = io.CopyN(sum, client, transfer/2)
	require.NoError(t, err)
	assert.Equal(t, <-sent, sum.Sum(nil))
	require.Eventually(t, func() bool { return w.attached(t) == 0 }, patience, patience/1000, "a program is left attached")
}

// attached is the number of the XDP program on the near interface.
func (w wire) attached(tb testing.TB) (program uint32) {
	tb.Helper()
	require.NoError(tb, w.near.Do(func() error {
		i, err := netns.Find(w.index)
		program = i.Xdp.ProgId
		return err
	}))
	return program
}
