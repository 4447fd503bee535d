package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
)

func TestWhy(t *testing.T) {
	h := newHome(t)
	self := fmt.Sprint(os.Getpid())
	r := h.run("why", self, "--for", "200ms", "-o", "json")
	require.Zero(t, r.code, r.err)
	var last map[string]any
	sum := 0.0
	for line := range strings.Lines(r.out) {
		last = nil
		require.NoError(t, json.Unmarshal([]byte(line), &last))
		if ns, known := last["ns"].(float64); known {
			sum += ns
		}
	}
	assert.Equal(t, "why", last["type"])
	assert.NotEmpty(t, last["verdict"])
	assert.Positive(t, last["threads"])
	if last["source"] == "ebpf" {
		assert.InDelta(t, last["waited_ns"], sum, 1, "the parts are the whole")
		assert.Len(t, last["bins"], 96)
	} else {
		assert.NotEmpty(t, last["lacking"])
	}

	r = h.run("why", self, "2147483647", "--for", "100ms")
	assert.Equal(t, exit.Some, r.code, "one is there")
	assert.Contains(t, r.out, " WHY")
	assert.Contains(t, r.err, "2147483647")
	assert.Equal(t, exit.Failed, h.run("why", "no-such-name", "--for", "100ms").code)
	assert.Equal(t, exit.Usage, h.run("why").code)
	assert.Equal(t, exit.Usage, h.run("why", self, "--for", "1ms").code)
	assert.Equal(t, exit.NotPermitted, h.run("--host-root", "/", "why", self).code)
	assert.Zero(t, h.run("--readonly", "why", self, "--for", "100ms").code, "it changes nothing")
}
