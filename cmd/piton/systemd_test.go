package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUnit has systemd check the unit, with this program in place of the one that it starts.
func TestUnit(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze (apt install systemd)")
	}
	text, err := os.ReadFile("systemd/piton-rules.service")
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	const program = "/usr/local/bin/piton"
	require.Contains(t, string(text), "ExecStart="+program+" rules run ")
	unit := filepath.Join(t.TempDir(), "piton-rules.service")
	require.NoError(t, os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), program, self)), 0o644))
	out, err := exec.Command(verify, "verify", "--man=no", unit).CombinedOutput()
	assert.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) { // it also speaks of other units of this machine
		assert.NotContains(t, line, "piton-rules", "%s", out)
	}
}
