package app

import (
	"errors"
	"fmt"

	"piton/internal/change"
	"piton/internal/cli/exit"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/watch"
)

// Watched finds what the words mean, to look at it. missing is an error about those that mean
// nothing while others do.
func (a *App) Watched(words []string, scope change.Scope) (t watch.Targets, missing, err error) {
	fs := procfs.New(a.HostRoot)
	found, unmatched, err := a.Targets(words, scope)
	if err != nil {
		return t, nil, err
	}
	gone := []error{unmatched}
	seen := map[kernel.TID]bool{}
	threads := 0
	for _, one := range found.Targets {
		st, err := fs.Status(one.TID)
		if err != nil {
			gone = append(gone, a.Missing(fmt.Errorf("there is no process or thread %d", one.TID)))
			continue
		}
		id := st.TGID
		if one.Scope == change.ScopeThread { // thread:/regex/, too
			id, threads = one.TID, threads+1
		}
		if !seen[id] {
			seen[id] = true
			t.IDs = append(t.IDs, id)
		}
	}
	missing = errors.Join(gone...)
	if threads > 0 {
		if scope != change.ScopeThread && threads < len(found.Targets) {
			return t, nil, exit.Usagef("thread:/regex/ means single threads, and the other words whole processes; watch either, or add --thread")
		}
		scope = change.ScopeThread
	}
	if len(t.IDs) == 0 {
		return t, nil, missing
	}
	switch scope {
	case change.ScopeThread:
		t.Scope = watch.Thread
	case change.ScopeTree:
		t.Scope = watch.Tree
		t.IDs, err = watch.Descendants(fs, t.IDs)
	}
	if missing != nil {
		missing = exit.With(exit.Some, missing)
	}
	return t, missing, err
}
