package change_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// BenchmarkPin is what a one-shot pin of a single-threaded process costs:
// plan, journal, set, read back, two passes over the threads.
func BenchmarkPin(b *testing.B) {
	for _, name := range []string{"journal", "bare"} {
		b.Run(name, func(b *testing.B) {
			cmd := exec.Command("sleep", "60")
			require.NoError(b, cmd.Start())
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}()
			mine, err := kernel.System().Affinity(0)
			require.NoError(b, err)
			o := change.Options{Writer: kernel.SystemWriter(), FileWriter: kernel.SystemFiles()}
			if name == "journal" {
				o.Journal, err = journal.Open(filepath.Join(b.TempDir(), "journal"))
				require.NoError(b, err)
			}
			for i := 0; b.Loop(); i++ {
				cpu := mine.First()
				if i%2 == 1 {
					cpu = mine.Last()
				}
				changetest.Apply(b, change.New(o), pin(change.ScopeProcess, cpuset.Of(cpu), kernel.TID(cmd.Process.Pid)))
			}
		})
	}
}
