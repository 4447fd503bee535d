package profilecmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/profile"
)

const verifyLong = `Compare the machine with a profile, and change nothing.
It exits with 0 if every setting is as in the profile, with 5 if one has drifted or an item that is not optional
matches nothing here.
Each drift is listed with the expected value, the actual one, and what set it: an entry of piton's journal, or another.
With --host-root it reads a recorded machine, and does not compare what only system calls return.
With -o json: {"type":"missing"} lines, {"type":"drift"} lines (item, pid, tid, name, path, attribute, expected,
actual, set_by, journal, reason), and a summary (checked, ok, drifted, missing, unknown, exit_code).`

func newVerify(a *app.App) *cobra.Command {
	var out output.Format
	cmd := &cobra.Command{
		Use:     "verify FILE",
		Short:   "list the settings that differ from a profile",
		Long:    verifyLong,
		Example: "  piton verify rt.toml\n  piton verify rt.toml -o json\n  piton --host-root /srv/trees/db-3 verify rt.toml",
		GroupID: app.GroupTune,
		Args:    flags.OneArg("file"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readProfile(a, args[0])
			if err != nil {
				return err
			}
			r, err := resolve(a, p)
			if err != nil {
				return err
			}
			return verify(a, r, out)
		},
	}
	out.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON, output.AsCSV)
	return cmd
}

func verify(a *app.App, r *profile.Resolution, out output.Format) error {
	printMissing(a, r, out)
	drift, missing, unknown := r.Drift(), len(r.Required()), r.Unknown()
	var outcome error
	if len(drift)+missing > 0 {
		outcome = exit.With(exit.Drift,
			fmt.Errorf("%d of %d settings have drifted, %d items mean nothing here", len(drift), len(r.Wants), missing))
	}
	setters := settersOf(journalEntries(a))
	if out.JSON() {
		verifyJSON(a, r, drift, setters, outcome)
		return outcome
	}
	if unknown > 0 {
		a.Warn("%d settings cannot be read here and were not compared", unknown)
	}
	switch {
	case len(drift) > 0 || out.Value == output.AsCSV:
		driftTable(drift, setters, out.Value != output.AsCSV).WriteAs(a, out)
	case outcome == nil:
		fmt.Fprintf(a, "%d settings are as they should be\n", len(r.Wants)-unknown)
	}
	return outcome
}

func verifyJSON(a *app.App, r *profile.Resolution, drift []profile.Want, setters setters, outcome error) {
	var l output.Line
	for i := range drift {
		w := &drift[i]
		by, entry := setters.of(w)
		l.Start("drift").Add("item", w.Item).Known("pid", int(w.PID), w.PID != 0).
			Known("tid", int(w.TID), w.TID != 0).Add("name", w.Name).Text("path", w.Path).Add("attribute", string(w.Attribute)).
			Add("expected", attr.Text(w.Expected)).
			Known("actual", attr.Text(w.Actual), w.Known).Add("set_by", by).Known("journal", entry, entry != 0).
			Add("reason", w.Blocked).Write(a)
	}
	l.Start("summary").Add("checked", len(r.Wants)).Add("ok", len(r.Wants)-len(drift)-r.Unknown()).
		Add("drifted", len(drift)).Add("missing", len(r.Required())).Add("unknown", r.Unknown()).Add("exit_code", exit.Code(outcome)).Write(a)
}

// setters are the entries that set each value last, as far as piton's journal knows.
type setters map[attr.Key]setter

type setter struct {
	entry uint64
	user  string
	value attr.Value
}

func settersOf(entries []change.Entry) setters {
	out := setters{}
	for _, e := range entries {
		if e.PastBoot {
			continue
		}
		for _, c := range e.Changes {
			if c.Took() {
				out[c.Key()] = setter{e.ID, e.User, c.After}
			}
		}
	}
	return out
}

// of is who set the value that is in force, and by which entry of the journal, 0 for none.
func (s setters) of(w *profile.Want) (who string, entry uint64) {
	last, ok := s[attr.Key{ID: attr.ID{TID: w.TID, StartTicks: w.StartTicks}, Attribute: w.Attribute, Path: w.Path}]
	switch {
	case !ok:
		return "not piton", 0
	case w.Known && w.Attribute.Alike(last.value, w.Actual):
		return fmt.Sprintf("%s, entry %d", last.user, last.entry), last.entry
	}
	return fmt.Sprintf("somebody else, after entry %d", last.entry), 0
}

type driftKey struct {
	pid                            kernel.TID
	name, path                     string
	attribute                      attr.Attribute
	expected, actual, by, item, no string
}

// driftTable lists what drifted, threads that read the same as one row when asked to.
func driftTable(drift []profile.Want, setters setters, together bool) *output.Table {
	t := output.NewTable(">PID", "NAME", ">THREADS", "ATTRIBUTE", "EXPECTED", "ACTUAL", "SET BY", "ITEM", "REASON")
	groups := slices.Collect(slices.Chunk(drift, 1))
	if together {
		groups = group.By(drift, func(w *profile.Want) driftKey {
			by, _ := setters.of(w)
			return driftKey{w.PID, w.Name, w.Path, w.Attribute, attr.Text(w.Expected), attr.Text(w.Actual), by, w.Item, w.Blocked}
		})
	}
	for _, g := range groups {
		w := &g[0]
		by, _ := setters.of(w)
		pid, threads := any(w.PID), any(len(g))
		if w.Path != "" {
			pid, threads = "-", "-"
		}
		t.Add(pid, w.Name, threads, w.Attribute, output.Dash(attr.Text(w.Expected)), output.Dash(attr.Text(w.Actual)),
			by, w.Item, output.Dash(w.Blocked))
	}
	return t
}
