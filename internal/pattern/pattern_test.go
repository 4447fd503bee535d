package pattern

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
