package action

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// htopHelp are the keys of the help screen of htop 3.5, and those of its bindings that
// it does not show.
const htopHelp = `# tab up down left right 0 1 2 3 4 5 6 7 8 9 f3 / f4 \ f5 t p m Z u H K O F + - * N P M T I f6 > .
	shift+tab space c U f9 k f7 ] f8 [ a b e i l x s w Y f2 C S f1 h ? f10 q
	< , = backspace ctrl+l f18 f15 f19 f20 shift+f3 shift+f6 shift+f7 shift+f8 { } pgup pgdown home end ctrl+a ^ ctrl+e $ ctrl+n ctrl+p ctrl+b ctrl+f
	alt+h alt+j alt+k alt+l esc`

// TestHtopKeys is that no key of htop is missing; that they do what they should is
// tested with the screen's table, in package cli.
func TestHtopKeys(t *testing.T) {
	left := map[string]bool{}
	for key := range strings.FieldsSeq(htopHelp) {
		left[key] = true
	}
	for i := range Htop {
		k := &Htop[i]
		assert.NotEmpty(t, k.Label)
		assert.NotEmpty(t, k.Does, k.Label)
		for _, key := range k.Keys {
			assert.True(t, left[key], "%s is no key of htop, or is listed twice", key)
			delete(left, key)
			hint, ok := HtopHint(key)
			assert.Equal(t, k.Hint != "", ok, key)
			assert.Contains(t, hint, k.Hint)
		}
		assert.NotEmpty(t, k.ID+k.Hint, k.Label)
	}
	assert.Empty(t, left, "keys of htop that are not listed")
	_, ok := HtopHint("ctrl+g")
	assert.False(t, ok)
}
