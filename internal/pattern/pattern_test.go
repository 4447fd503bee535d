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

func TestBudget(t *testing.T) {
	for expr, least := range map[string]int{`abc`: 3, `x{1000}`: 1000, `(?:(?:xy){10}){100}`: 2000, `\pL`: 500} {
		var b Budget
		require.NoError(t, b.Take(expr))
		assert.GreaterOrEqual(t, b.used, least, expr)
		assert.Less(t, b.used, 5*least, expr)
	}
	for _, expr := range []string{`(`, strings.Repeat("x", MaxLength+1), `((x{100}){100})`, strings.Repeat(`\pL{900}`, 3)} {
		_, err := Compile(expr)
		assert.Error(t, err)
	}
	var b Budget
	taken := 0
	for b.Take(`\pL{20}`) == nil {
		taken++
	}
	assert.Positive(t, taken)
	assert.Less(t, taken, 30, "together they are bounded")
	_, err := b.Compile("x")
	assert.ErrorContains(t, err, "the regular expressions are too large")
}
