package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// linked is what the linker kept in the binary, a line "symbol -> symbol" for each reference.
var linked string

// TestMethodsAreCalledByCode holds 4 MB: where one function that is linked finds methods by name, as
// text/template does, the linker keeps every exported method of the program.
func TestMethodsAreCalledByCode(t *testing.T) {
	if linked == "" {
		t.Skip("the binary was built before this process began")
	}
	require.Contains(t, linked, "main.main -> ", "what -dumpdep prints")
	for line := range strings.Lines(linked) {
		assert.NotContains(t, line, "<ReflectMethod>")
	}
}
