package kernel_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// TestAGroupEnds with its context and when its first process fails; what one that
// ended well leaves behind is left alone.
func TestAGroupEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		cancel bool
		lives  bool
	}{
		"with its context":    {"sleep 600 & echo $!; wait", true, false},
		"with a failed shell": {"sleep 600 & echo $!; exit 3", false, false},
		"not with a good one": {"sleep 600 & echo $!", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-c", tc.script)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			group := kernel.OwnGroup(cmd)
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			require.NoError(t, err)
			if tc.cancel {
				cancel()
			}
			assert.Equal(t, tc.lives, group.Wait() == nil)
			require.ErrorIs(t, group.Kill(), os.ErrProcessDone, "its number may be another's")
			if tc.lives {
				assert.False(t, ended(pid))
				background, err := os.FindProcess(pid)
				require.NoError(t, err)
				require.NoError(t, background.Kill())
			}
			assert.Eventually(t, func() bool { return ended(pid) }, time.Minute, 5*time.Millisecond)
		})
	}
}

// ended reports whether a process is gone, or dead and not waited for by whoever
// inherited it.
func ended(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, after, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}
