package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/group"
	"piton/internal/kernel"
)

type journalOptions struct {
	output output
	count  count
}

func newJournal(a *app) *cobra.Command {
	o := journalOptions{count: count{min: 1, max: 1 << 30}}
	cmd := &cobra.Command{
		Use:   "journal [ENTRY]",
		Short: "list the changes that were made",
		Long: `List the changes that piton made, oldest first: time, user, command, outcome.
With an entry's number, list every thread of it.
With -o json: one {"type":"entry"} line an entry, followed by its {"type":"change"} lines.
guard is the state of the guard that would revert it (waiting, lost, stopped, …; null if none is known; see piton keep).
namespace is the kind of namespace in which an entry was made, if not in this one.`,
		Example: "  piton journal\n  piton journal 12\n  piton journal -n 5 -o json",
		GroupID: groupTune,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("piton journal takes one entry, not %q", args[1])
			}
			if len(args) == 1 && o.count.n > 0 {
				return usagef("--count and entry %s exclude each other", args[0])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return runJournal(a, o, args)
		},
	}
	o.output.addFlag(cmd.Flags(), asTable, asJSON)
	cmd.Flags().VarP(&o.count, "count", "n", "only the last so many entries")
	return cmd
}

func runJournal(a *app, o journalOptions, args []string) error {
	if !a.live() {
		return change.ErrNotLive
	}
	j, err := journal.Open(journal.Path(a.getenv, kernel.EUID()))
	if err != nil {
		return err
	}
	entries, damage, err := j.Entries()
	if err != nil {
		return err
	}
	for _, d := range damage {
		a.warn("%v", d)
	}
	if len(args) > 0 {
		e, err := entryNamed(entries, args[0])
		if err != nil {
			return err
		}
		entries = []change.Entry{e}
		if !o.output.json() {
			changeTable(e.Changes, false).write(a)
			return nil
		}
	} else if n := o.count.n; n > 0 && n < len(entries) {
		entries = entries[len(entries)-n:]
	}
	guards := map[uint64]change.GuardState{}
	armed, err := a.guards().List()
	for _, g := range armed {
		guards[g.Entry] = g
	}
	if o.output.json() {
		a.journalJSON(entries, guards)
		return err
	}
	a.tellLost()
	journalTable(entries, guards).write(a)
	return err
}

func entryNamed(entries []change.Entry, word string) (change.Entry, error) {
	for _, e := range entries {
		if fmt.Sprint(e.ID) == word {
			return e, nil
		}
	}
	return change.Entry{}, usagef("there is no journal entry %q", word)
}

func journalTable(entries []change.Entry, guards map[uint64]change.GuardState) *table {
	t := newTable(">ENTRY", "TIME", "USER", ">THREADS", "CHANGES", "STATE", "COMMAND")
	for _, e := range entries {
		plan := change.Plan{Changes: e.Changes}
		t.add(e.ID, e.Time.Local().Format(time.DateTime), e.User, plan.Threads(), changesInWords(e.Changes), entryState(e, guards), e.Command)
	}
	return t
}

// changesInWords names the first of the different changes: "affinity 0-1 → 1",
// "irq-affinity 0-3 → 2 of 3 IRQs".
func changesInWords(changes []change.Change) string {
	text := func(c *change.Change) string {
		return fmt.Sprintf("%s %s → %s", c.Attribute, dash(attr.Text(c.Before)), dash(attr.Text(c.After)))
	}
	var words []string
	for _, g := range group.By(changes, text) {
		word := text(&g[0])
		if files := attr.FilesText(g); files != "" {
			word += " of " + files
		}
		words = append(words, word)
	}
	const shown = 3
	if len(words) > shown {
		words = append(words[:shown], fmt.Sprintf("%d more", len(words)-shown))
	}
	return strings.Join(words, ", ")
}

func entryState(e change.Entry, guards map[uint64]change.GuardState) string {
	guard, guarded := guards[e.ID]
	switch {
	case len(e.Undoes) > 0:
		return "undoes " + strings.Trim(fmt.Sprint(e.Undoes), "[]")
	case e.Undone:
		return "undone"
	case e.PastBoot:
		return "before the last boot"
	case e.Foreign != "":
		return "in another " + e.Foreign + " namespace"
	case guarded && (guard.Lost || guard.Stopped):
		return "guard " + guard.State + ": not reverted"
	case guarded && guard.Left > 0:
		return fmt.Sprintf("reverted in %v unless kept", guard.Left.Round(time.Second))
	case !e.Finished:
		return "interrupted"
	case e.ChangedNothing():
		return "nothing changed"
	}
	return "in force"
}

func (a *app) journalJSON(entries []change.Entry, guards map[uint64]change.GuardState) {
	var l line
	for _, e := range entries {
		l.start("entry").add("v", Version).add("entry", e.ID).add("time", stamp(e.Time)).
			add("user", e.User).add("command", e.Command).add("reason", e.Reason).add("state", entryState(e, nil)).
			add("finished", e.Finished).add("undone", e.Undone).add("past_boot", e.PastBoot).add("undoes", list(e.Undoes)).
			add("namespace", textOrNull(e.Foreign)).add("guard", textOrNull(guards[e.ID].State)).write(a)
		a.writeChanges(e.Changes)
	}
}
