package tunecmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/history"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/field"
)

type journalOptions struct {
	output output.Format
	count  flags.Count
}

func newJournal(a *app.App) *cobra.Command {
	o := journalOptions{count: flags.Count{Min: 1, Max: 1 << 30}}
	cmd := &cobra.Command{
		Use:   "journal [ENTRY]",
		Short: "list the changes that were made",
		Long: `List the changes that piton made, oldest first: time, user, command, outcome. An undo is part of what it undid.
With an entry's number, list every thread of it, and what undid it.
With -o json: an entry line for each, undos too, followed by its change lines (see piton schema entry).`,
		Example: "  piton journal\n  piton journal 12\n  piton journal -n 5 -o json",
		GroupID: app.GroupTune,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("piton journal takes one entry, not %q", args[1])
			}
			if len(args) == 1 && o.count.N > 0 {
				return exit.Usagef("--count and entry %s exclude each other", args[0])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			ids, err := entryNumbers(args)
			if err != nil {
				return err
			}
			return runJournal(a, o, ids)
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	cmd.Flags().VarP(&o.count, "count", "n", "only the last so many entries")
	return cmd
}

func runJournal(a *app.App, o journalOptions, ids []uint64) error {
	j, err := a.JournalToRead()
	if err != nil {
		return err
	}
	entries, damage, err := j.Entries()
	if err != nil {
		return err
	}
	for _, d := range damage {
		a.Warn("%v", d)
	}
	guards, guardsErr := a.Guards().List()
	operations := history.Operations(entries, guards)
	for id, f := range change.Check(context.Background(), a.TunerWith(j), operations) {
		operations[slices.IndexFunc(operations, func(d history.Operation) bool { return d.ID == id })].Found = f
	}
	if len(ids) > 0 {
		e, err := entryNumbered(entries, ids[0])
		if err != nil {
			return err
		}
		if !o.output.JSON() {
			journalParts(a, e, operations)
			return nil
		}
		entries = []change.Entry{e}
	}
	if n := o.count.N; n > 0 {
		entries = entries[max(len(entries)-n, 0):]
		operations = operations[max(len(operations)-n, 0):]
	}
	if o.output.JSON() {
		journalJSON(a, entries, operations)
		return guardsErr
	}
	a.WarnLostGuards()
	journalTable(operations).Write(a)
	return guardsErr
}

func entryNumbered(entries []change.Entry, id uint64) (change.Entry, error) {
	for _, e := range entries {
		if e.ID == id {
			return e, nil
		}
	}
	return change.Entry{}, fmt.Errorf("there is no journal entry %d", id)
}

// journalTable has a row for each operation, as the screen has.
func journalTable(operations []history.Operation) *output.Table {
	t := output.NewTable(">ENTRY", "TIME", "USER", "WHAT", "CHANGE", "STATE", "COMMAND")
	for i := range operations {
		d := &operations[i]
		t.Add(d.ID, d.Time.Local().Format(time.DateTime), d.User, d.What(), d.Change(), d.State(), d.Command)
	}
	return t
}

// journalParts lists the parts of an entry: its changes, and what undid it.
func journalParts(a *app.App, e change.Entry, operations []history.Operation) {
	changes.Write(a, e.Changes, output.Format{}, false)
	for i := range operations {
		for u := range operations[i].Undos {
			if operations[i].ID == e.ID {
				fmt.Fprintln(a.Out, operations[i].UndoLine(&operations[i].Undos[u]))
			}
		}
	}
}

// journalJSON writes the entries as they are recorded, undos too.
func journalJSON(a *app.App, entries []change.Entry, operations []history.Operation) {
	for _, e := range entries {
		r := recorded{Entry: e, state: "undoes " + strings.Trim(fmt.Sprint(e.Undoes), "[]")}
		if i := slices.IndexFunc(operations, func(d history.Operation) bool { return d.ID == e.ID && len(e.Undoes) == 0 }); i >= 0 {
			r.state = operations[i].State()
			if r.guard = operations[i].RevertFailed(); operations[i].Guard != nil {
				r.guard = operations[i].Guard.State
			}
		}
		entryList.JSON(a, r)
		changes.WriteJSON(a, e.Changes)
	}
}

// recorded is an entry as it stands now.
type recorded struct {
	change.Entry
	state, guard string
}

var entryList = output.NewList("journal", "entry", "an entry of the journal, with its changes behind it",
	output.Col("entry", "", output.Int, "its number", func(r recorded) any { return r.ID }),
	output.Col("time", "", output.Text, "when it was made", func(r recorded) any { return field.Stamp(r.Time) }),
	output.Col("user", "", output.Text, "by whom", func(r recorded) any { return r.User }),
	output.Col("command", "", output.Text, "the command that does the same", func(r recorded) any { return r.Command }),
	output.Col("reason", "", output.Text, "why", func(r recorded) any { return r.Reason }),
	output.Col("state", "", output.Text, "in force, undone, …", func(r recorded) any { return r.state }),
	output.Col("finished", "", output.Bool, "its end is recorded", func(r recorded) any { return r.Finished }),
	output.Col("undone", "", output.Bool, "it has been undone", func(r recorded) any { return r.Undone }),
	output.Col("past_boot", "", output.Bool, "it is from before this boot", func(r recorded) any { return r.PastBoot }),
	output.Col("undoes", "", output.Ints, "the entries that it undid", func(r recorded) any { return field.Values(r.Undoes) }),
	output.Col("namespace", "", output.MaybeText, "kind of namespace it was made in, if not this one",
		func(r recorded) any { return field.NonEmpty(r.Foreign) }),
	output.Col("guard", "", output.MaybeText, "state of its guard, or revert failed and why; null if none is known",
		func(r recorded) any { return field.NonEmpty(r.guard) }))
