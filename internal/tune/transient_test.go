package tune

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The controller stays on while another group has a cpuset by it.
func TestTransientGroupLeavesOthersTheirs(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text, want string
	}{
		"nobody":    {"cpuset.cpus", "\n", "-cpuset"},
		"cpus":      {"cpuset.cpus", "4-7\n", ""},
		"nodes":     {"cpuset.mems", "0\n", ""},
		"no cpuset": {"cgroup.procs", "12\n", "-cpuset"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), nil, 0o600))
			ours, other := filepath.Join(parent, "piton-run-1"), filepath.Join(parent, "piton-run-2")
			require.NoError(t, os.Mkdir(ours, 0o755))
			require.NoError(t, os.Mkdir(other, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(other, tt.file), []byte(tt.text), 0o600))
			require.NoError(t, TransientGroup{Dir: ours, Enabled: parent}.Remove())
			got, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
}
