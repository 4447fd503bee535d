package profilecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/profile"
)

const verifyLong = `Compare the machine with a profile, and change nothing.
It exits with 0 if every setting is as in the profile, with 5 if one has drifted or an item that is not optional
matches nothing here.
Each drift is listed with the expected value, the actual one, and what set it: an entry of piton's journal, or another.
With --host-root it reads a recorded machine, and does not compare what only system calls return.
With -o json: missing lines, drift lines and a summary (see piton schema).`

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
			p, err := readProfile(a, args[0], false)
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
	setters, view := history.Setters(journalEntries(a)), a.TunerWith(nil).NewView()
	var rows []drifted
	for i := range drift {
		by, entry := setBy(&drift[i], setters, view)
		rows = append(rows, drifted{drift[i], by, entry, 1})
	}
	if out.JSON() {
		driftList.Write(a, rows, out)
		verifySummaryList.JSON(a, verdict{r, len(drift), exit.Code(outcome)})
		return outcome
	}
	if unknown > 0 {
		a.Warn("%d settings cannot be read here and were not compared", unknown)
	}
	switch {
	case out.Value == output.AsCSV:
		driftList.CSV(a, rows, true)
	case len(drift) > 0:
		driftList.Write(a, together(rows), out)
	case outcome == nil:
		fmt.Fprintf(a, "%d settings are as they should be\n", len(r.Wants)-unknown)
	}
	return outcome
}

// drifted is a setting that differs from the profile, and what set it.
type drifted struct {
	profile.Want
	by    string
	entry uint64 // of the journal, 0 for none

	threads int // in a row of a table
}

// ofThread is a text about a thread's setting, "" for that of a file.
func ofThread(text func(d drifted) any) func(drifted) string {
	return func(d drifted) string {
		if d.Path != "" {
			return ""
		}
		return fmt.Sprint(text(d))
	}
}

// verdict is the end of a comparison.
type verdict struct {
	*profile.Resolution
	drifted, code int
}

var (
	driftList = output.NewList("verify", "drift", "a setting that differs from the profile",
		output.Col("pid", ">PID", output.MaybeInt, "process", func(d drifted) any { return field.Known(int(d.PID), d.PID != 0) }).
			As(ofThread(func(d drifted) any { return d.PID })),
		output.Col("tid", "", output.MaybeInt, "thread", func(d drifted) any { return field.Known(int(d.TID), d.TID != 0) }),
		output.Col("name", "NAME", output.Text, "of the task, interrupt, queue or setting", func(d drifted) any { return d.Name }),
		output.TableCol(">THREADS", ofThread(func(d drifted) any { return d.threads })),
		output.Col("path", "", output.MaybeText, "the file", func(d drifted) any { return field.NonEmpty(d.Path) }),
		output.Col("attribute", "ATTRIBUTE", output.Text, "what is set", func(d drifted) any { return string(d.Attribute) }),
		output.Col("expected", "EXPECTED", output.Text, "the profile's value", func(d drifted) any { return attr.Text(d.Expected) }),
		output.Col("actual", "ACTUAL", output.MaybeText, "the value in force",
			func(d drifted) any { return field.Known(attr.Text(d.Actual), d.Known) }),
		output.Col("set_by", "SET BY", output.Text, "who set that", func(d drifted) any { return d.by }),
		output.Col("journal", "", output.MaybeInt, "by which entry of the journal",
			func(d drifted) any { return field.Known(d.entry, d.entry != 0) }),
		output.Col("item", "ITEM", output.Text, "item of the profile", func(d drifted) any { return d.Item }),
		output.Col("reason", "REASON", output.Text, "why it cannot be as expected", func(d drifted) any { return d.Blocked }))
	verifySummaryList = output.NewList("verify", "summary", "how a machine compares with a profile",
		output.Col("checked", "", output.Int, "settings", func(v verdict) any { return len(v.Wants) }),
		output.Col("ok", "", output.Int, "as in the profile", func(v verdict) any { return len(v.Wants) - v.drifted - v.Unknown() }),
		output.Col("drifted", "", output.Int, "different", func(v verdict) any { return v.drifted }),
		output.Col("missing", "", output.Int, "items that match nothing and are not optional", func(v verdict) any { return len(v.Required()) }),
		output.Col("unknown", "", output.Int, "settings that cannot be read here", func(v verdict) any { return v.Unknown() }),
		output.Col("exit_code", "", output.Int, "of the run", func(v verdict) any { return v.code }))
)

// setBy is who set the value that is in force, and by which entry of the journal, 0 for none.
func setBy(w *profile.Want, setters map[attr.Key]history.Setter, view *attr.View) (who string, entry uint64) {
	c := change.Change{Object: attr.Object{PID: w.PID, TID: w.TID, StartTicks: w.StartTicks, Path: w.Path}, Attribute: w.Attribute}
	last, ok := setters[c.Key()]
	gone, lapsed := view.Lapsed(c, last.Value, w.Actual)
	switch {
	case !ok:
		return "not piton", 0
	case w.Known && w.Attribute.Alike(last.Value, w.Actual):
		return fmt.Sprintf("%s, entry %d", last.User, last.Entry), last.Entry
	case lapsed && gone.Empty():
		return fmt.Sprintf("somebody else, or the kernel when a CPU went offline, after entry %d", last.Entry), 0
	case lapsed:
		return fmt.Sprintf("the kernel: %s, after entry %d", attr.LapsedWhy(gone), last.Entry), 0
	}
	return fmt.Sprintf("somebody else, after entry %d", last.Entry), 0
}

type driftKey struct {
	pid                            kernel.TID
	name, path                     string
	attribute                      attr.Attribute
	expected, actual, by, item, no string
}

// together has threads that read the same as one row.
func together(drift []drifted) []drifted {
	groups := group.By(drift, func(d *drifted) driftKey {
		return driftKey{d.PID, d.Name, d.Path, d.Attribute, attr.Text(d.Expected), attr.Text(d.Actual), d.by, d.Item, d.Blocked}
	})
	rows := make([]drifted, len(groups))
	for i, g := range groups {
		rows[i] = g[0]
		rows[i].threads = len(g)
	}
	return rows
}
