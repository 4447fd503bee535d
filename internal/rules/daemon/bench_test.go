package daemon

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/guard"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/rules"
)

// BenchmarkStandingPlacement is what a placement by a rule costs from the decision on: plan,
// lock, journal, set, read back, and the look for threads that were born meanwhile.
func BenchmarkStandingPlacement(b *testing.B) {
	dir := b.TempDir()
	j, err := journal.Open(filepath.Join(dir, "piton", "journal"))
	require.NoError(b, err)
	proc := procfs.New("/")
	j.Gone = func(e *change.Entry) bool { return history.Ended(proc, e) }
	guards := guard.NewLauncher(func(name string) string { return map[string]string{"XDG_STATE_HOME": dir}[name] }, os.Environ(), "")
	c := &Changer{Wants: wants{}, Tuner: change.New(change.Options{
		Sources: attr.Sources{Proc: proc}, Writer: kernel.SystemWriter(), FileWriter: kernel.SystemFiles(),
		Journal: j, Lock: journal.UserLock(kernel.EUID(), dir), Guards: guards, Daemon: true,
	})}
	set, err := rules.Parse([]byte(one + "[[rule]]\nname = 'b'\ncomm = 'b'\nnice = 2\n"))
	require.NoError(b, err)
	d := decision(b, sleeper(b), set.Rules[0])
	self := kernel.TID(os.Getpid())
	used, err := kernel.ProcessTime(self)
	require.NoError(b, err)
	for i := 0; b.Loop(); i++ {
		d.Rule = set.Rules[i%2]
		effects, _, _ := c.Apply(context.Background(), []rules.Decision{d})
		require.Equal(b, Done, effects[0].Status, effects[0].Why)
	}
	now, err := kernel.ProcessTime(self)
	require.NoError(b, err)
	b.ReportMetric(float64(now-used)/float64(b.N), "cpu-ns/op")
}
