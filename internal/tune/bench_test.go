package tune

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// BenchmarkPin is what a one-shot pin of a single-threaded process costs:
// plan, journal with sync, set, read back, two passes over the threads.
func BenchmarkPin(b *testing.B) {
	for _, journalled := range []bool{true, false} {
		name := "bare"
		if journalled {
			name = "journal"
		}
		b.Run(name, func(b *testing.B) {
			cmd := exec.Command("sleep", "60")
			require.NoError(b, cmd.Start())
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}()
			mine, err := kernel.System().Affinity(kernel.TID(os.Getpid()))
			require.NoError(b, err)
			o := Options{}
			if journalled {
				o.Journal, err = OpenJournal(filepath.Join(b.TempDir(), "journal"))
				require.NoError(b, err)
			}
			for i := 0; b.Loop(); i++ {
				cpu := mine.First()
				if i%2 == 1 {
					cpu = mine.Last()
				}
				tuner := New(o)
				plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(cpu), kernel.TID(cmd.Process.Pid)))
				require.NoError(b, err)
				_, err = tuner.Apply(context.Background(), plan)
				require.NoError(b, err)
			}
		})
	}
}
