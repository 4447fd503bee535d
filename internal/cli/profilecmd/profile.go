package profilecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/partition"
	"piton/internal/profile"
)

// readProfile reads a profile from a file, by its name from the folders of
// profiles, or from standard input for "-". With acts, one that root must not follow is
// refused.
func readProfile(a *app.App, path string, acts bool) (*profile.Profile, error) {
	path = findProfile(a, app.InputFile(path))
	data, err := a.Steering(path, profile.MaxSize, acts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no profile %s, neither as a file nor by name (see piton profiles)", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	p, err := profile.Parse(data)
	if err != nil {
		return nil, exit.Usagef("%s: %w", path, err)
	}
	for _, note := range p.Notes {
		a.Warn("%s: %s", path, note)
	}
	return p, nil
}

// readState reads the machine as a profile sees it.
func readState(a *app.App, needs profile.Needs) (*profile.State, error) {
	s, err := profile.Read(a.HostRoot, needs)
	if err != nil {
		return nil, err
	}
	reader := a.TunerWith(nil)
	s.Cpuset = func(pid kernel.TID) (cpuset.Set, error) {
		set, _, err := reader.Cpuset(pid)
		return set, err
	}
	entries := journalEntries(a)
	past := partition.Past(entries)
	s.Apart, s.Unmovable = past.Apart(), unmovable(entries)
	return s, nil
}

// unmovable are the interrupt lines that piton has tried to move in this boot, and
// could not.
func unmovable(entries []change.Entry) map[string]bool {
	out := map[string]bool{}
	for _, e := range entries {
		for _, c := range e.Changes {
			if c.Attribute == attr.IRQAffinity && !e.PastBoot {
				out[c.Path] = c.Status == attr.Failed
			}
		}
	}
	return out
}

// resolve reads the machine, and compares a profile with it.
func resolve(a *app.App, p *profile.Profile) (*profile.Resolution, error) {
	s, err := readState(a, p.Needs())
	if err != nil {
		return nil, err
	}
	return profile.Resolve(p, s), nil
}

// printMissing lists the items that match nothing here, optional ones in JSON only.
func printMissing(a *app.App, r *profile.Resolution, o output.Format) {
	for _, note := range r.Notes {
		a.Warn("%s", note)
	}
	for _, m := range r.Missing {
		if !o.JSON() {
			if !m.Optional {
				a.Warn("%s", m)
			}
			continue
		}
		missingList.JSON(a, m)
	}
}

var missingList = output.NewList("profile", "missing", "an item of a profile that matches nothing here",
	output.Col("item", "", output.Text, "which item of the file", func(m profile.Missing) any { return m.Item }),
	output.Col("matchers", "", output.Text, "what it looks for", func(m profile.Missing) any { return m.Matchers }),
	output.Col("optional", "", output.Bool, "it may match nothing", func(m profile.Missing) any { return m.Optional }))

// missingError is the end of a run with items that match nothing.
func missingError(r *profile.Resolution) error {
	missing := r.Required()
	switch {
	case len(missing) == 0:
		return nil
	case len(r.Wants) == 0:
		return exit.With(exit.Failed, fmt.Errorf("no item of the profile matches this machine, such as %s", missing[0]))
	}
	return exit.With(exit.Some, nil)
}

// journalEntries are the journal's, none where it cannot be read.
func journalEntries(a *app.App) []change.Entry {
	j, err := a.JournalToRead()
	if err != nil {
		return nil
	}
	entries, _, err := j.Entries()
	if err != nil {
		return nil
	}
	return entries
}

// fileName is how a profile's file is called in reasons.
func fileName(path string) string {
	if path == "-" {
		return "from standard input"
	}
	return filepath.Base(path)
}
