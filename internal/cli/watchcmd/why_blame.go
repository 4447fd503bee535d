package watchcmd

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/procfs"
	"piton/internal/watch"
	"piton/internal/why"
	"piton/internal/why/page"
	"piton/internal/why/session"
)

// blameAnswer is who kept victims waiting.
type blameAnswer struct {
	all  []why.Observation // of each victim
	at   time.Time
	code int
}

// runBlame observes each word by itself, or the machine by its control groups.
func runBlame(ctx context.Context, a *app.App, words []string, o whyOptions) error {
	var names []string
	var targets []watch.Targets
	var missing error
	if len(words) == 0 {
		names, targets = machineVictims(procfs.New(a.HostRoot))
	} else {
		var err error
		if _, missing, err = whyTargets(a, words, o.scope.Value()); err != nil {
			return err
		}
	}
	for _, word := range words {
		if t, _, err := whyTargets(a, []string{word}, o.scope.Value()); err == nil { // else it is missing
			names, targets = append(names, word), append(targets, t)
		}
	}
	if len(targets) > session.MostOfMany {
		return exit.Usagef("--blame takes at most %d targets; a control group is one", session.MostOfMany)
	}
	many, err := session.OpenMany(targets...)
	if err != nil {
		return exit.With(exit.NotPermitted, fmt.Errorf("--blame needs causes: %w", err))
	}
	defer many.Close()
	err = while(ctx, o.length.Duration, func() (left bool, err error) {
		for i := range targets {
			if left, err = targets[i].Left(procfs.New(a.HostRoot)); left || err != nil {
				break
			}
		}
		return left, err
	})
	if err != nil {
		return err
	}
	answer := blameAnswer{at: time.Now()}
	if answer.all, err = many.Read(); err != nil {
		return err
	}
	if a.Signal != 0 {
		missing = exit.With(128+int(a.Signal), nil)
	}
	answer.code = exit.Code(missing)
	answer.print(a, o.output, names)
	return missing
}

// machineVictims are the units, containers and sessions of the machine: control groups whose owner
// is not that of the group above. Those of most processes come first; what has no room counts with
// the group above it.
func machineVictims(from procfs.FS) (names []string, targets []watch.Targets) {
	type group struct {
		path      string
		processes int
	}
	all := []group{{"/", math.MaxInt}}
	mount, err := from.CgroupMount("cpu")
	if err != nil {
		return []string{"/"}, []watch.Targets{{Groups: []string{"/"}}}
	}
	_ = filepath.WalkDir(mount.Point, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it is gone
		}
		path := filepath.Join("/", mount.Root, strings.TrimPrefix(dir, mount.Point))
		if path != "/" && procfs.OwnerOf(path) != procfs.OwnerOf(filepath.Dir(path)) {
			all = append(all, group{path, len(procfs.GroupProcesses(dir))})
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b group) int { return cmp.Compare(b.processes, a.processes) })
	for _, g := range all[:min(len(all), session.MostOfMany)] {
		names, targets = append(names, procfs.OwnerOf(g.path)), append(targets, watch.Targets{Groups: []string{g.path}})
	}
	return names, targets
}

// mostOffenders and mostKept are how many offenders, and victims of each, people read.
const (
	mostOffenders = 20
	mostKept      = 4
)

func (b blameAnswer) print(a *app.App, o output.Format, names []string) {
	var victims []why.Victim
	for i, of := range b.all {
		victims = append(victims, why.Victim{Name: names[i], Observation: of})
	}
	offenders := why.Blame(victims)
	switch {
	case o.JSON():
		for _, offender := range offenders {
			for _, kept := range offender.Of {
				blameList.JSON(a, blamed{offender, kept})
			}
		}
		blameSummary.JSON(a, b)
	case len(offenders) == 0:
		fmt.Fprintln(a, "They waited for nobody.")
	default:
		offenderList.First(a, offenders[:min(len(offenders), mostOffenders)], "offender")
	}
}

// blamed is how long one victim waited for one offender.
type blamed struct {
	why.Offender
	why.Kept
}

// rate is ms waited a second.
func (k blamed) rate() float64 { return 1000 * k.Kept.Time.Seconds() / max(k.Span.Seconds(), 1e-9) }

// whom are the victims of an offender: "131 of web, 40 of sshd".
func whom(o why.Offender) string {
	var out []string
	for _, kept := range o.Of {
		out = append(out, fmt.Sprintf("%s of %s", page.PerSecond(blamed{o, kept}.rate()), kept.Victim))
	}
	if more := len(out) - mostKept; more > 0 {
		out = append(out[:mostKept], fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

var offenderList = output.Selection("blame", []field.Column[why.Offender]{
	output.TableCol("OFFENDER", func(o why.Offender) string { return o.Name }),
	output.TableCol("CAUSE", func(o why.Offender) string { return o.Cause.String() }),
	output.TableCol("ms/s", whom)})

var blameList = output.NewList("why", "blame", "how long a target waited for an offender",
	output.Col("name", "", output.Text, "who had the CPU, or whose limit it is", func(k blamed) any { return k.Name }),
	output.Col("kind", "", output.Text, "neighbour, real time, kernel, limit", func(k blamed) any { return k.Cause.String() }),
	output.Col("ms_per_s", "", output.Number, "time that the target waited, a second", func(k blamed) any { return field.Rounded(float32(k.rate())) }),
	output.Col("victim", "", output.Text, "the target that waited; without targets, the owner of a control group", func(k blamed) any { return k.Victim }),
	output.Col("ns", "", output.Int, "time that it waited", func(k blamed) any { return int64(k.Kept.Time) }),
	output.Col("total_ns", "", output.Int, "of all targets", func(k blamed) any { return int64(k.Offender.Time) }),
	output.Col("cgroup", "", output.MaybeText, "the offender's control group", func(k blamed) any { return field.NonEmpty(k.Group) }),
	output.Col("pid", "", output.MaybeInt, "a process of it", func(k blamed) any { return field.Known(int(k.PID), k.PID != 0) }))

// sum is that of the victims.
func (b blameAnswer) sum(of func(o *why.Observation) int64) (sum int64) {
	for i := range b.all {
		sum += of(&b.all[i])
	}
	return sum
}

// first is the first victim: what holds for all holds for it.
func (b blameAnswer) first() why.Observation {
	if len(b.all) == 0 {
		return why.Observation{}
	}
	return b.all[0]
}

var blameSummary = output.NewList("why", "blame_summary", "the end of a look at who kept whom waiting",
	output.Col("time", "", output.Text, "when observing ended", func(b blameAnswer) any { return field.Stamp(b.at) }),
	output.Col("duration_s", "", output.Number, "time observed", func(b blameAnswer) any { return b.first().Span.Seconds() }),
	output.Col("targets", "", output.Int, "targets observed", func(b blameAnswer) any { return len(b.all) }),
	output.Col("threads", "", output.Int, "threads seen of them", func(b blameAnswer) any { return b.sum(func(o *why.Observation) int64 { return int64(o.Threads) }) }),
	output.Col("waited_ns", "", output.Int, "time that they waited, for whatever", func(b blameAnswer) any { return b.sum(func(o *why.Observation) int64 { return int64(o.Waited) }) }),
	output.Col("lost", "", output.Int, "events that were lost", func(b blameAnswer) any { return b.sum(func(o *why.Observation) int64 { return int64(o.Lost) }) }),
	output.Col("cost_ns", "", output.Int, "CPU time that observing took", func(b blameAnswer) any { return int64(b.first().Cost) }),
	output.Col("exit_code", "", output.Int, "of the run", func(b blameAnswer) any { return b.code }))
