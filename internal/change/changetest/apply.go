package changetest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Set asks for settings of whole processes.
func Set(set []attr.Setting, tids ...kernel.TID) []change.Request {
	r := change.Request{Set: set}
	for _, tid := range tids {
		r.Targets = append(r.Targets, change.Target{TID: tid})
	}
	return []change.Request{r}
}

// One asks for one setting of whole processes.
func One(s attr.Setting, tids ...kernel.TID) []change.Request { return Set([]attr.Setting{s}, tids...) }

// Pin asks for CPUs.
func Pin(scope change.Scope, cpus cpuset.Set, tids ...kernel.TID) []change.Request {
	out := One(attr.SetAffinity(cpus), tids...)
	for i := range out[0].Targets {
		out[0].Targets[i].Scope = scope
	}
	return out
}

// File asks for a value of a file.
func File(a attr.Attribute, path, name string, v attr.Value) []change.Request {
	return []change.Request{{Files: []attr.FileSetting{attr.SetFile(a, path, name, v)}}}
}

// Plan plans requests.
func Plan(tb testing.TB, tuner *change.Tuner, requests []change.Request) change.Plan {
	tb.Helper()
	plan, err := tuner.Plan(tb.Context(), requests)
	require.NoError(tb, err)
	return plan
}

// ApplyPlan carries a plan out.
func ApplyPlan(tb testing.TB, tuner *change.Tuner, plan change.Plan) change.Outcome {
	tb.Helper()
	outcome, err := tuner.Apply(tb.Context(), plan, change.Confirmation{Yes: true})
	require.NoError(tb, err)
	return outcome
}

// Apply plans requests and carries them out.
func Apply(tb testing.TB, tuner *change.Tuner, requests []change.Request) change.Outcome {
	tb.Helper()
	return ApplyPlan(tb, tuner, Plan(tb, tuner, requests))
}

// Undo undoes entries.
func Undo(tb testing.TB, tuner *change.Tuner, q change.UndoRequest) change.Outcome {
	tb.Helper()
	outcome, err := tuner.Undo(tb.Context(), q)
	require.NoError(tb, err)
	return outcome
}

// Brief is the part of changes that most tests compare.
func Brief(changes []change.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Attribute)+" "+attr.Text(c.Before)+" to "+attr.Text(c.After)+": "+string(c.Status))
	}
	return out
}

// Journal opens a new journal in a file.
func Journal(tb testing.TB) *journal.Journal {
	tb.Helper()
	j, err := journal.Open(filepath.Join(tb.TempDir(), "state/piton/journal"))
	require.NoError(tb, err)
	return j
}

// Entries returns what an undamaged journal holds.
func Entries(tb testing.TB, j *journal.Journal) []change.Entry {
	tb.Helper()
	entries, damage, err := j.Entries()
	require.NoError(tb, err)
	require.Empty(tb, damage)
	return entries
}
