package auto

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOutput(t *testing.T) {
	for _, tt := range []struct {
		expr   string
		writes []string
		grown  float64
	}{
		{"done", []string{"job do", "ne\njob 2 done\n", "done"}, 2},
		{"frame= *([0-9]+)", []string{"frame=  10 fps\rframe=  25 fps\r", "frame=30"}, 25},
		{"n ([0-9]+)", []string{"n 10\nn 12\nn 3\nn 4\n"}, 13},
		{"^x$", []string{strings.Repeat("y", 3*mostOfALine), "\nx\n"}, 1},
	} {
		o, err := ParseOutput("output:" + tt.expr)
		require.NoError(t, err)
		for _, w := range tt.writes {
			n, err := o.Write([]byte(w))
			assert.NoError(t, err)
			assert.Equal(t, len(w), n)
		}
		m := o.Metric()
		v, err := m.Read()
		assert.NoError(t, err)
		assert.Equal(t, tt.grown, v, tt.expr)
		v, _ = m.Read()
		assert.Equal(t, tt.grown, v, "nothing was written")
		assert.Equal(t, "output:"+tt.expr, m.Name())
	}
	o, err := ParseOutput("output:n (.*)")
	require.NoError(t, err)
	_, _ = o.Write([]byte("n nan\n"))
	_, err = o.Metric().Read()
	assert.ErrorContains(t, err, `"nan" is not a number`)

	for _, bad := range []string{"output:", "output:(", "output:(a)(b)"} {
		_, err := ParseOutput(bad)
		assert.ErrorContains(t, err, bad)
	}
	o, err = ParseOutput("cpu")
	assert.True(t, o == nil && err == nil)
}
