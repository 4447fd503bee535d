package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/attr"
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

func newVerify(a *app) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:     "verify FILE",
		Short:   "list the settings that differ from a profile",
		Long:    verifyLong,
		Example: "  piton verify rt.toml\n  piton verify rt.toml -o json\n  piton --host-root /srv/trees/db-3 verify rt.toml",
		GroupID: groupTune,
		Args:    takesOne("file"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.readProfile(args[0])
			if err != nil {
				return err
			}
			r, err := a.resolve(p)
			if err != nil {
				return err
			}
			return a.verify(r, out)
		},
	}
	out.addFlag(cmd.Flags(), asTable, asJSON, asCSV)
	return cmd
}

func (a *app) verify(r *profile.Resolution, out output) error {
	a.printMissing(r, out)
	drift, missing, unknown := r.Drift(), len(r.Required()), r.Unknown()
	var outcome error
	if len(drift)+missing > 0 {
		outcome = withCode(ExitDrift, fmt.Errorf("%d of %d settings have drifted, %d items mean nothing here", len(drift), len(r.Wants), missing))
	}
	setters := settersOf(a.entries())
	if out.json() {
		a.verifyJSON(r, drift, setters, outcome)
		return outcome
	}
	if unknown > 0 {
		a.warn("%d settings cannot be read here and were not compared", unknown)
	}
	switch {
	case len(drift) > 0 || out.value == asCSV:
		driftTable(drift, setters, out.value != asCSV).writeAs(a, out)
	case outcome == nil:
		fmt.Fprintf(a, "%d settings are as they should be\n", len(r.Wants)-unknown)
	}
	return outcome
}

func (a *app) verifyJSON(r *profile.Resolution, drift []profile.Want, setters setters, outcome error) {
	var l line
	for i := range drift {
		w := &drift[i]
		by, entry := setters.of(w)
		l.start("drift").add("item", w.Item).add("pid", orNull(int(w.PID), w.PID != 0)).
			add("tid", orNull(int(w.TID), w.TID != 0)).add("name", w.Name).add("path", textOrNull(w.Path)).add("attribute", string(w.Attribute)).add("expected", attr.Text(w.Expected)).
			add("actual", orNull(attr.Text(w.Actual), w.Known)).add("set_by", by).add("journal", orNull(entry, entry != 0)).
			add("reason", w.Blocked).write(a)
	}
	l.start("summary").add("v", Version).add("checked", len(r.Wants)).add("ok", len(r.Wants)-len(drift)-r.Unknown()).
		add("drifted", len(drift)).add("missing", len(r.Required())).add("unknown", r.Unknown()).add("exit_code", exitCode(outcome)).write(a)
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

// of names what set the value that something has now.
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
func driftTable(drift []profile.Want, setters setters, together bool) *table {
	t := newTable(">PID", "NAME", ">THREADS", "ATTRIBUTE", "EXPECTED", "ACTUAL", "SET BY", "ITEM", "REASON")
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
		t.add(pid, w.Name, threads, w.Attribute, dash(attr.Text(w.Expected)), dash(attr.Text(w.Actual)), by, w.Item, dash(w.Blocked))
	}
	return t
}
