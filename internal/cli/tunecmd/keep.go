package tunecmd

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/guard"
	"piton/internal/change/history"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/kernel"
)

func newKeep(a *app.App) *cobra.Command {
	var out output.Format
	all := false
	cmd := &cobra.Command{
		Use:   "keep [ENTRY…]",
		Short: "confirm changes that would be reverted",
		Long: `Confirm changes that were made with --revert-after, by the number of their journal entry, so that they stay.
piton undo undoes them at once. Without a number, list the changes that wait for confirmation.
A guard that has ended is listed as lost, one that does not run as stopped: nothing reverts its change meanwhile.
In another time namespace the time left is not known.
At the end of a user's last session systemd-logind removes /run/user/UID, and with it piton's list of guards.
They revert in time, and can be confirmed again after the next login.
With -o json: a guard line for each (see piton schema guard).`,
		Example: "  piton pin 3641 --cpu 2 --revert-after 30s\n  piton keep\n  piton keep 12",
		GroupID: app.GroupTune,
		RunE: func(_ *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return exit.Usagef("--all and %q exclude each other", args[0])
			}
			entries, err := entryNumbers(args)
			if err != nil {
				return err
			}
			if !a.Live() {
				return change.ErrNotLive
			}
			armed, err := a.Guards().List()
			if err != nil {
				return err
			}
			if len(args) == 0 && !all {
				printGuards(a, armed, out)
				return nil
			}
			for _, g := range armed {
				if all {
					entries = append(entries, g.Entry)
				}
			}
			return keep(a, armed, entries, out)
		},
	}
	out.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	cmd.Flags().BoolVar(&all, "all", false, "confirm everything that is waiting")
	return cmd
}

// entryNumbers reads the numbers of journal entries, each once.
func entryNumbers(words []string) ([]uint64, error) {
	var out []uint64
	for _, word := range words {
		id, ok := kernel.ParseNumber(word, 64)
		if !ok || id == 0 {
			return nil, exit.Usagef("%q is not the number of a journal entry (see piton journal)", word)
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// printGuards lists the changes that wait for confirmation.
func printGuards(a *app.App, armed []history.GuardState, out output.Format) {
	rows := make([]guardRow, len(armed))
	for i, g := range armed {
		rows[i] = guardRow{g, g.State}
	}
	if guardList.Write(a, rows, out); out.JSON() {
		return
	}
	a.WarnLostGuards()
}

// guardRow is a guard and its state, or that its change was kept.
type guardRow struct {
	history.GuardState
	state string
}

func (g guardRow) left() string {
	if g.Left == history.LeftUnknown {
		return ""
	}
	return g.Left.Round(time.Second / 10).String()
}

var guardList = output.NewList("keep", "guard", "a guard that reverts a change unless it is confirmed",
	output.Col("entry", ">ENTRY", output.Int, "entry of the journal", func(g guardRow) any { return g.Entry }),
	output.Col("left_s", ">LEFT", output.MaybeNumber, "time left, null in another time namespace",
		func(g guardRow) any { return field.Known(g.Left.Seconds(), g.Left != history.LeftUnknown) }).As(guardRow.left),
	output.Col("guard_pid", ">GUARD", output.Int, "its process", func(g guardRow) any { return g.PID }),
	output.Col("state", "STATE", output.Text, "being made, waiting, being reverted, lost, stopped or kept",
		func(g guardRow) any { return g.state }),
	output.Col("command", "COMMAND", output.Text, "the command that made the change", func(g guardRow) any { return g.Command }),
	output.Col("caveats", "", output.Texts, "what it is not protected from", func(g guardRow) any { return field.Values(g.Caveats) }))

// keep confirms entries. For one without a guard, the error says what became of it.
func keep(a *app.App, armed []history.GuardState, entries []uint64, out output.Format) error {
	var failed error
	kept := false
	for _, id := range entries {
		i := slices.IndexFunc(armed, func(g history.GuardState) bool { return g.Entry == id })
		var err error
		if i < 0 {
			err = whyNotKept(a, id)
		} else if err = a.Guards().Keep(id); err != nil {
			err = fmt.Errorf("entry %d: %w", id, err)
		}
		kept = kept || err == nil
		a.Changed = kept
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case out.JSON():
			guardList.JSON(a, guardRow{armed[i], "kept"})
		default:
			fmt.Fprintf(a, "entry %d stays; piton undo %d undoes it\n", id, id)
		}
	}
	if failed != nil && kept {
		return exit.With(exit.Some, failed)
	}
	return failed
}

// whyNotKept says why an entry cannot be confirmed.
func whyNotKept(a *app.App, id uint64) error {
	j, err := a.JournalToRead()
	if err != nil {
		return err
	}
	entries, _, err := j.Entries()
	if err != nil {
		return err
	}
	e, err := entryNumbered(entries, id)
	if err != nil {
		return err
	}
	for _, d := range history.Operations(entries, nil) {
		if why := d.RevertFailed(); d.ID == id && why != "" {
			return fmt.Errorf("entry %d: %s", id, why)
		}
	}
	switch {
	case e.Undone:
		return fmt.Errorf("entry %d has been reverted or undone already", id)
	case e.PastBoot:
		return fmt.Errorf("entry %d is from before this boot; its guard and its changes are gone", id)
	}
	return fmt.Errorf("entry %d: %w", id, guard.ErrNotArmed)
}
