package cli

import (
	"fmt"
	"os/user"
	"path/filepath"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/guard"
	"piton/internal/change/journal"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// journal opens the journal of this user.
func (a *app) journal() (*journal.Journal, error) {
	if !a.live() {
		return nil, change.ErrNotLive
	}
	j, err := journal.Open(journal.Path(a.getenv, kernel.EUID()))
	if err != nil {
		return nil, fmt.Errorf("nothing is changed without a journal, or it could not be undone: %w", err)
	}
	return j, nil
}

// guards starts and finds the guards of this user.
func (a *app) guards() guard.Launcher { return guard.NewLauncher(a.getenv, a.Env, a.userName()) }

// tuner returns a Tuner for this run.
func (a *app) tuner() (*change.Tuner, error) {
	if a.readonly {
		return nil, errReadOnly
	}
	j, err := a.journal()
	if err != nil {
		return nil, err
	}
	a.tellLost()
	return a.tunerWith(j), nil
}

// tunerWith returns a Tuner; only where something may be changed has it a write side.
func (a *app) tunerWith(j *journal.Journal) *change.Tuner {
	o := change.Options{
		Sources: attr.Sources{Proc: procfs.New(a.hostRoot)}, Journal: j, Guards: a.guards(), User: a.userName(),
		Command: strings.Join(append([]string{"piton"}, a.Args...), " "),
	}
	if a.live() && !a.readonly && j != nil {
		o.Writer, o.FileWriter = kernel.SystemWriter(), kernel.SystemFiles()
		o.Lock = journal.UserLock(kernel.EUID(), filepath.Dir(j.Path()))
	}
	return change.New(o)
}

// tellLost says which guards will not revert what they guard.
func (a *app) tellLost() {
	armed, err := a.guards().List()
	if err != nil {
		return // piton keep reports it
	}
	for _, g := range armed {
		if words := g.Words(); words != "" {
			a.warn("%s", words)
		}
	}
}

// userName is the user of the journal's entries.
func (a *app) userName() string {
	if sudo := a.getenv("SUDO_USER"); sudo != "" {
		return sudo + " (sudo)"
	}
	if name := a.getenv("USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint(kernel.EUID())
}
