package child

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

const word = "peer-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == word {
		os.Exit(Main(os.Stdin, os.Stdout, twice))
	}
	os.Exit(m.Run())
}

type order struct{ Number int }

// unlucky is the number that a process panics at.
const unlucky = 13

// twice doubles a number, but not a negative or the unlucky one, and adds what file 3
// says.
func twice(c *Child) error {
	var o order
	if err := c.Hear(&o); err != nil {
		return err
	}
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
	if o.Number == unlucky {
		panic("out of luck")
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
	p, err := Start(ctx, Command{Name: "doubler", Argv: []string{self, word}, Files: []*os.File{r}})
	require.NoError(t, errors.Join(err, r.Close()))
	return p
}

func TestConversation(t *testing.T) {
	p := start(t, t.Context())
	require.NoError(t, p.Say(order{7}))
	require.NoError(t, p.ExpectReady())
	require.NoError(t, p.Go())
	var o order
	require.NoError(t, p.Expect(&o))
	assert.Equal(t, 17, o.Number)
	used, err := p.End(false)
	require.NoError(t, err)
	assert.Positive(t, used.MaxRSSBytes)
}

func TestFailures(t *testing.T) {
	p := start(t, t.Context())
	require.NoError(t, p.Say(order{-1}))
	assert.EqualError(t, p.ExpectReady(), "doubler: it is negative")
	_, err := p.End(false)
	assert.EqualError(t, err, "exit status 1")

	p = start(t, t.Context())
	require.NoError(t, p.Say(order{1}))
	require.NoError(t, p.ExpectReady())
	p.Release() // instead of "go"
	assert.ErrorContains(t, p.Expect(&order{}), io.ErrUnexpectedEOF.Error())
	_, err = p.End(false)
	assert.Error(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	p = start(t, ctx)
	cancel()
	assert.ErrorContains(t, p.ExpectReady(), "a doubler ended without an answer")
	_, err = p.End(false)
	assert.Error(t, err, "it was killed")

	_, err = Start(t.Context(), Command{Name: "doubler"})
	assert.ErrorContains(t, err, "no command")
	_, err = Start(t.Context(), Command{Name: "doubler", Argv: []string{"/no/such/program"}})
	assert.ErrorContains(t, err, "start a doubler")
}

func TestTogether(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	empty, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer empty.Close()
	run := func(numbers ...int) (told []order, used int, err error) {
		told, err = Together[order](t.Context(), func(ctx context.Context, g *Group) error {
			for _, n := range numbers {
				if _, err := g.Start(ctx, Command{Name: "doubler", Argv: []string{self, word}, Files: []*os.File{empty}}, order{n}); err != nil {
					return err
				}
			}
			return nil
		}, func(int, kernel.Usage) { used++ })
		return told, used, err
	}
	told, used, err := run(1, 2, 3)
	require.NoError(t, err)
	assert.Equal(t, []order{{2}, {4}, {6}}, told)
	assert.Equal(t, 3, used)
	_, used, err = run(1, -1, 3)
	assert.EqualError(t, err, "doubler: it is negative")
	assert.Equal(t, 3, used, "none outlives the call")
	_, used, err = run(1, unlucky, 3)
	assert.EqualError(t, err, "a doubler ended without an answer: EOF (panic: out of luck)")
	assert.ErrorIs(t, err, io.EOF)
	assert.Equal(t, 3, used)
}
