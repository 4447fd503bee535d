package main

import (
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	s, err := parse([]string{"-size", "120x40", "-keys", "7", "--", "sleep 10", "nosuch -d 1", "cat"})
	require.NoError(t, err)
	assert.Equal(t, []string{"sleep 10", "cat"}, s.programs)
	assert.Equal(t, []string{"nosuch"}, s.missing)
	assert.EqualValues(t, 120, s.size.Cols)
	assert.EqualValues(t, 40, s.size.Rows)
	_, err = parse([]string{"-size", "wide", "top"})
	assert.ErrorContains(t, err, `"wide"`)
	_, err = parse([]string{"nosuch -d 1"})
	require.ErrorContains(t, err, "not installed: nosuch")
	_, err = parse(nil)
	assert.ErrorContains(t, err, "missing programs")
}

// A question is answered once, also where it arrives in two pieces.
func TestQuestionsAreAnswered(t *testing.T) {
	m, err := start(`sh -c 'stty raw -echo; printf "a\033["; sleep 0.2; printf "c\033[5n"; dd bs=13 count=1 iflag=fullblock 2>/dev/null | od -c'`,
		pty.Winsize{Cols: 80, Rows: 24})
	require.NoError(t, err)
	defer m.stop()
	select {
	case <-m.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the answers did not arrive")
	}
	assert.Greater(t, m.written.Load(), int64(40))
}

func TestMedian(t *testing.T) {
	assert.InDelta(t, 2, median([][]float64{{3, 0}, {1, 0}, {2, 0}}, 0), 0)
}
