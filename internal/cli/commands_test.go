package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A command that is made alone, because the command line begins with it, is the
// one that root has among all.
func TestOneCommandIsAsAmongAll(t *testing.T) {
	all := newRoot(&app{})
	for _, c := range commands {
		whole, _, err := all.Find([]string{c.name})
		assert.NoError(t, err)
		assert.Equal(t, c.name, whole.Name())
		alone, _, err := newRoot(&app{IO: IO{Args: []string{c.name}}}).Find([]string{c.name})
		assert.NoError(t, err)
		assert.Equal(t, whole.UsageString(), alone.UsageString())
	}
	assert.Len(t, all.Commands(), len(commands)+1, "and the completion; help comes when it is executed")
}
