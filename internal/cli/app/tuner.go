package app

import (
	"fmt"
	"os/user"
	"path/filepath"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/guard"
	"piton/internal/change/journal"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/shell"
	"piton/internal/userfile"
)

// Journal opens the journal of this user.
func (a *App) Journal() (*journal.Journal, error) {
	if !a.Live() {
		return nil, change.ErrNotLive
	}
	j, err := journal.Open(a.journalPath())
	if err != nil {
		return nil, fmt.Errorf("nothing is changed without a journal, or it could not be undone: %w", err)
	}
	return j, nil
}

// journalPath is where the journal is. Root is told where it is not.
func (a *App) journalPath() string {
	if why := userfile.StateLeftOut(a.Getenv, kernel.EUID()); why != nil && !a.leftOut {
		a.leftOut = true
		a.Warn("$XDG_STATE_HOME is not used: %v", why)
	}
	return journal.Path(a.Getenv, kernel.EUID())
}

// JournalToRead opens the journal of this user, also where it cannot be written.
func (a *App) JournalToRead() (*journal.Journal, error) {
	if !a.Live() {
		return nil, change.ErrNotLive
	}
	return journal.OpenToRead(a.journalPath())
}

// Guards starts and finds the guards of this user.
func (a *App) Guards() guard.Launcher { return guard.NewLauncher(a.Getenv, a.Env, a.userName()) }

// Tuner returns a Tuner for this run.
func (a *App) Tuner() (*change.Tuner, error) { return a.tunerOf(a.Journal) }

// Undoer returns a Tuner that undoes, also where the journal cannot be written.
func (a *App) Undoer() (*change.Tuner, error) { return a.tunerOf(a.JournalToRead) }

func (a *App) tunerOf(open func() (*journal.Journal, error)) (*change.Tuner, error) {
	if a.ReadOnly {
		return nil, ErrReadOnly
	}
	j, err := open()
	if err != nil {
		return nil, err
	}
	a.WarnLostGuards()
	return a.TunerWith(j), nil
}

// TunerWith returns a Tuner; it can write only where changes are possible.
func (a *App) TunerWith(j *journal.Journal) *change.Tuner { return a.tuner(j, change.Options{}) }

// RulesTuner is TunerWith for rules; a daemon's makes changes on which the user has
// decided once for all.
func (a *App) RulesTuner(j *journal.Journal, daemon bool) *change.Tuner {
	return a.tuner(j, change.Options{Rules: true, Daemon: daemon})
}

func (a *App) tuner(j *journal.Journal, o change.Options) *change.Tuner {
	o.Sources, o.Journal, o.Guards = attr.Sources{Proc: procfs.New(a.HostRoot)}, j, a.Guards()
	o.User, o.Command = a.userName(), shell.Join(append([]string{"piton"}, a.Args...)...)
	if a.Live() && !a.ReadOnly && j != nil {
		o.Writer, o.FileWriter = kernel.SystemWriter(), kernel.SystemFiles()
		o.Lock = journal.UserLock(kernel.EUID(), filepath.Dir(j.Path()))
	}
	return change.New(o)
}

// WarnLostGuards says which guards will not revert what they guard.
func (a *App) WarnLostGuards() {
	armed, err := a.Guards().List()
	if err != nil {
		return // piton keep reports it
	}
	for _, g := range armed {
		if words := g.Words(); words != "" {
			a.Warn("%s", words)
		}
	}
}

// userName is the user of the journal's entries.
func (a *App) userName() string {
	if sudo := a.Getenv("SUDO_USER"); sudo != "" {
		return sudo + " (sudo)"
	}
	if name := a.Getenv("USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint(kernel.EUID())
}
