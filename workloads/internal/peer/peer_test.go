package peer

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const word = "peer-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == word {
		os.Exit(Main(os.Stdin, os.Stdout, twice))
	}
	os.Exit(m.Run())
}

type order struct{ Number int }

// twice doubles a number, but not a negative one, and adds what file 3 says.
func twice(c *Child, o order) error {
	if o.Number < 0 {
		return errors.New("it is negative")
	}
	text, err := io.ReadAll(os.NewFile(3, "file"))
	if err != nil {
		return err
	}
	if err := c.Ready(); err != nil {
		return err
	}
	return c.Tell(map[string]any{"Number": 2*o.Number + len(text)})
}

func start(t *testing.T, ctx context.Context) *Process {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	self, err := os.Executable()
	require.NoError(t, err)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_, err = w.WriteString("abc")
	require.NoError(t, errors.Join(err, w.Close()))
	p, err := Start(ctx, "doubler", []string{self, word}, r)
	require.NoError(t, errors.Join(err, r.Close()))
	return p
}

func TestConversation(t *testing.T) {
	p := start(t, t.Context())
	require.NoError(t, p.Say(order{7}))
	require.NoError(t, p.ExpectReady())
	require.NoError(t, p.Say("go"))
	var o order
	require.NoError(t, p.Expect(&o))
	assert.Equal(t, 17, o.Number)
	used, err := p.Wait()
	require.NoError(t, err)
	assert.Positive(t, used.MaxRSSBytes)
}

func TestFailures(t *testing.T) {
	p := start(t, t.Context())
	require.NoError(t, p.Say(order{-1}))
	assert.EqualError(t, p.ExpectReady(), "doubler: it is negative")
	_, err := p.Wait()
	assert.ErrorContains(t, err, "a doubler failed: exit status 1")

	p = start(t, t.Context())
	require.NoError(t, p.Say(order{1}))
	require.NoError(t, p.ExpectReady())
	p.Release() // instead of "go"
	assert.ErrorContains(t, p.Expect(&order{}), io.ErrUnexpectedEOF.Error())
	_, err = p.Wait()
	assert.Error(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	p = start(t, ctx)
	cancel()
	assert.ErrorContains(t, p.ExpectReady(), "a doubler ended without a result")
	_, err = p.Wait()
	assert.Error(t, err, "it was killed")

	_, err = Start(t.Context(), "doubler", nil)
	assert.ErrorContains(t, err, "no command")
	_, err = Start(t.Context(), "doubler", []string{"/no/such/program"})
	assert.ErrorContains(t, err, "start a doubler")
}
