package runner

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/child"
	"piton/workloads/workload"
)

func TestFurtherProcessOfAWorkload(t *testing.T) {
	twins := workload.Workload{Name: "twins", Process: func(c *child.Child) error {
		return errors.Join(c.Tell([]string{"a"}), c.Ready())
	}}
	run := func(words ...string) (code int, said string) {
		var out strings.Builder
		code = childMain([]workload.Workload{twins, {Name: "alone"}}, append([]string{"peer"}, words...), strings.NewReader("\"go\"\n"), &out)
		return code, out.String()
	}
	code, said := run("twins")
	assert.Zero(t, code)
	assert.Equal(t, "[\"a\"]\n{\"ready\":true}\n", said)
	for name, want := range map[string]string{"alone": "has no further processes", "none": "unknown workload"} {
		code, said = run(name)
		assert.Equal(t, 1, code)
		assert.Contains(t, said, want)
	}
}
