package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cli/app"
)

// A command that is made alone, because the command line begins with it, is the
// one that root has among all.
func TestOneCommandIsAsAmongAll(t *testing.T) {
	all := newRoot(&app.App{})
	for name := range commands {
		whole, _, err := all.Find([]string{name})
		assert.NoError(t, err)
		assert.Equal(t, name, whole.Name())
		alone, _, err := newRoot(&app.App{IO: app.IO{Args: []string{name}}}).Find([]string{name})
		assert.NoError(t, err)
		assert.Equal(t, whole.UsageString(), alone.UsageString())
	}
	assert.Len(t, all.Commands(), len(commands)+1, "and the completion; help comes when it is executed")
}
