package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/guard"
)

func newKeep(a *app) *cobra.Command {
	var out output
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
With -o json: a {"type":"guard"} line for each; state is "being made", "waiting", "being reverted", "lost" or "stopped",
left_s null where it is not known.`,
		Example: "  piton pin 3641 --cpu 2 --revert-after 30s\n  piton keep\n  piton keep 12",
		GroupID: groupTune,
		RunE: func(_ *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return usagef("--all and %q exclude each other", args[0])
			}
			entries, err := entryNumbers(args)
			if err != nil {
				return err
			}
			if !a.live() {
				return change.ErrNotLive
			}
			armed, err := a.guards().List()
			if err != nil {
				return err
			}
			if len(args) == 0 && !all {
				a.printGuards(armed, out)
				return nil
			}
			for _, g := range armed {
				if all {
					entries = append(entries, g.Entry)
				}
			}
			return a.keep(armed, entries, out)
		},
	}
	out.addFlag(cmd.Flags(), asTable, asJSON)
	cmd.Flags().BoolVar(&all, "all", false, "confirm everything that is waiting")
	return cmd
}

// entryNumbers reads the numbers of journal entries, each once.
func entryNumbers(words []string) ([]uint64, error) {
	var out []uint64
	for _, word := range words {
		id, err := strconv.ParseUint(word, 10, 64)
		if err != nil || id == 0 {
			return nil, usagef("%q is not the number of a journal entry (see piton journal)", word)
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// printGuards lists what waits for an answer.
func (a *app) printGuards(armed []change.GuardState, out output) {
	if out.json() {
		for _, g := range armed {
			a.guardLine(g, g.State)
		}
		return
	}
	t := newTable(">ENTRY", ">LEFT", ">GUARD", "STATE", "COMMAND")
	for _, g := range armed {
		left := "-"
		if g.Left != change.LeftUnknown {
			left = g.Left.Round(time.Second / 10).String()
		}
		t.add(g.Entry, left, g.PID, g.State, g.Command)
	}
	t.write(a)
	a.tellLost()
}

func (a *app) guardLine(g change.GuardState, state string) {
	var l line
	var left any // null in another time namespace
	if g.Left != change.LeftUnknown {
		left = g.Left.Seconds()
	}
	l.start("guard").add("v", Version).add("entry", g.Entry).add("guard_pid", g.PID).add("state", state).
		add("left_s", left).add("command", g.Command).add("caveats", list(g.Caveats)).write(a)
}

// keep confirms entries. Of those without a known guard it says what is known.
func (a *app) keep(armed []change.GuardState, entries []uint64, out output) error {
	var failed error
	kept := false
	for _, id := range entries {
		i := slices.IndexFunc(armed, func(g change.GuardState) bool { return g.Entry == id })
		var err error
		if i < 0 {
			err = a.decided(id)
		} else if err = a.guards().Keep(id); err != nil {
			err = fmt.Errorf("entry %d: %w", id, err)
		}
		kept = kept || err == nil
		a.changed = kept
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case out.json():
			a.guardLine(armed[i], "kept")
		default:
			fmt.Fprintf(a, "entry %d stays; piton undo %d undoes it\n", id, id)
		}
	}
	if failed != nil && kept {
		return withCode(ExitSome, failed)
	}
	return failed
}

// decided says why an entry cannot be confirmed.
func (a *app) decided(id uint64) error {
	j, err := a.journal()
	if err != nil {
		return err
	}
	entries, _, err := j.Entries()
	if err != nil {
		return err
	}
	e, err := entryNamed(entries, fmt.Sprint(id))
	switch {
	case err != nil:
		return err
	case e.Undone:
		return fmt.Errorf("entry %d has been reverted or undone already", id)
	case e.PastBoot:
		return fmt.Errorf("entry %d is from before this boot; its guard and its changes are gone", id)
	}
	return fmt.Errorf("entry %d: %w", id, guard.ErrNotArmed)
}
