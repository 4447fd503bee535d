package group

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestByKeepsTheOrder(t *testing.T) {
	first := func(s *string) byte { return (*s)[0] }
	assert.Equal(t, [][]string{{"b1", "b2"}, {"a1"}}, By([]string{"b1", "a1", "b2"}, first))
	assert.Empty(t, By(nil, first))
}
