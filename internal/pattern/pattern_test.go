package pattern

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWholeMatchesAll(t *testing.T) {
	either := Whole(`a+|b`)
	assert.True(t, either().MatchString("aaa"))
	assert.False(t, either().MatchString("ab"), "the bars are inside the anchors")
	assert.Same(t, either(), either(), "compiled once")
	assert.True(t, Lazy(`b`)().MatchString("abc"))
}

func TestCompilesWhenAsked(t *testing.T) {
	broken := Lazy(`(`)
	assert.Panics(t, func() { broken() })
}

func TestSize(t *testing.T) {
	for expr, least := range map[string]int{`abc`: 3, `x{1000}`: 1000, `(?:(?:xy){10}){100}`: 2000, `\pL`: 500} {
		n, err := Size(expr)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, n, least, expr)
		assert.Less(t, n, 5*least, expr)
	}
	for _, expr := range []string{`(`, strings.Repeat("x", MaxLength+1), `((x{100}){100})`} {
		_, err := Size(expr)
		assert.Error(t, err)
	}
}
