package watchcmd

import (
	"bytes"
	"fmt"
	"time"

	"piton/internal/chart"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/watch"
)

const (
	watchHead = "%-15s %7s %7s %-15s %4s %4s  %s\n"
	watchRow  = "%-15s %7d %7d %-15s %4d %4d  %s\n"
	countRow  = "%-15s %7d %7d %-15s %4s %4s  %d moves\n"
	clock     = "15:04:05.000000"
)

// beginning is the first line.
func (l *watchLog) beginning(t watch.Targets) []byte {
	if l.json {
		return watchList.Append(nil, watchStart{l.src.Kind(), l.src.Single(), t})
	}
	return fmt.Appendf(nil, watchHead, "TIME", "PID", "TID", "NAME", "FROM", "TO", "DISTANCE")
}

// move appends the line of a migration.
func (l *watchLog) move(dst []byte, m *watch.Move) []byte {
	if l.json {
		return moveList.Append(dst, watchMove{l, m})
	}
	return fmt.Appendf(dst, watchRow, l.wall(m.At).Format(clock), m.TGID, m.TID, cleaned(l.name(m.TGID, m.TID)),
		m.From, m.To, l.totals.Topo.Distance(m.From, m.To))
}

// count appends the line of a thread's migrations.
func (l *watchLog) count(dst []byte, at time.Time, c watch.Count) []byte {
	if l.json {
		return countList.Append(dst, watchCount{c, at, l.name(c.TGID, c.TID)})
	}
	return fmt.Appendf(dst, countRow, at.Format(clock), c.TGID, c.TID, cleaned(l.name(c.TGID, c.TID)), "?", "?", c.N)
}

// summary is the sums.
func (l *watchLog) summary(s watchSummary) []byte {
	var out bytes.Buffer
	t := l.totals
	tasks, pairs := t.Tasks(), t.Pairs()
	var byTask []watchTask
	for _, task := range tasks {
		byTask = append(byTask, watchTask{task, l.name(task.TGID, task.TID), t.Moves})
	}
	var byPair []watchPair
	for _, p := range pairs {
		byPair = append(byPair, watchPair{p, t.Moves})
	}
	if l.json {
		movedList.JSON(&out, byTask...)
		pairList.JSON(&out, byPair...)
		watchSummaryList.JSON(&out, watchEnd{l, s})
		return out.Bytes()
	}
	fmt.Fprintf(&out, "\n%s in %.3f s, of %s: %s\n", chart.Plural(int(t.Moves), "move"), s.took.Seconds(),
		chart.Plural(len(tasks), "thread"), l.sourceWords())
	l.caveats(&out, s)
	if t.Moves > 0 {
		l.tables(&out, byTask, byPair)
	}
	return out.Bytes()
}

// caveats says what the lines or the sums lack.
func (l *watchLog) caveats(out *bytes.Buffer, s watchSummary) {
	t := l.totals
	if kernel := s.lost - l.behind; kernel > 0 {
		fmt.Fprintf(out, "%s came too fast to print; they are in these sums\n", chart.Plural(int(kernel), "move"))
	}
	if l.behind > 0 {
		fmt.Fprintf(out, "%s were not printed because the output was too slow; they are in these sums\n", chart.Plural(int(l.behind), "move"))
	}
	if t.Unseen > 0 {
		fmt.Fprintf(out, "%s while a task ran that this machine hides from eBPF: their CPUs are not known\n", chart.Plural(int(t.Unseen), "move"))
	}
	if t.NoTask > 0 {
		fmt.Fprintf(out, "%s of unknown tasks: there were too many at once\n", chart.Plural(int(t.NoTask), "move"))
	}
	if t.Unfollowed > 0 {
		fmt.Fprintf(out, "%s could not be watched: there were too many at once\n", chart.Plural(int(t.Unfollowed), "descendant"))
	}
}

// tables prints the sums. Writing to memory cannot fail.
func (l *watchLog) tables(out *bytes.Buffer, tasks []watchTask, pairs []watchPair) {
	t := l.totals
	out.WriteByte('\n')
	movedList.First(out, tasks, "thread")
	if len(pairs) == 0 {
		return
	}
	byDistance := output.NewTable("DISTANCE", ">MOVES", ">SHARE")
	for d := topology.SMTSibling; d <= topology.OtherNode; d++ {
		byDistance.Add(d, t.ByDistance[d], share(t.ByDistance[d], t.Moves))
	}
	out.WriteByte('\n')
	byDistance.Write(out)
	out.WriteByte('\n')
	pairList.First(out, pairs, "pair")
}

func share(moves, of uint64) string { return chart.Percent(float64(moves) / float64(of)) }

type (
	watchStart struct {
		source sample.Source
		single bool
		t      watch.Targets
	}
	watchMove struct {
		l *watchLog
		m *watch.Move
	}
	watchCount struct {
		watch.Count
		at   time.Time
		comm string
	}
	watchTask struct {
		watch.TaskTotal
		comm string
		of   uint64 // moves of all
	}
	watchPair struct {
		watch.PairTotal
		of uint64
	}
	watchEnd struct {
		l *watchLog
		s watchSummary
	}
)

func (e watchEnd) byDistance() any {
	out := []field.Member{}
	for d := topology.SMTSibling; d <= topology.OtherNode; d++ {
		out = append(out, field.Member{Name: d.String(), Value: e.l.totals.ByDistance[d]})
	}
	return out
}

var (
	watchList = output.NewList("watch", "watch", "the beginning of a watch",
		output.Col("time", "", output.Text, "when it began", func(watchStart) any { return field.Stamp(time.Now()) }),
		output.Col("source", "", output.Text, "where moves or wakeups come from", func(w watchStart) any { return w.source.String() }),
		output.Col("single", "", output.Bool, "each move is known, not only their number", func(w watchStart) any { return w.single }),
		output.Col("scope", "", output.Text, "what the targets mean: process, thread, tree",
			func(w watchStart) any { return w.t.Scope.String() }),
		output.Col("targets", "", output.Ints, "PIDs or TIDs; none: all tasks", func(w watchStart) any { return field.Ints(w.t.IDs) }))
	moveList = output.NewList("watch", "move", "a migration",
		output.Col("time", "", output.Text, "when", func(w watchMove) any { return field.Stamp(w.l.wall(w.m.At)) }),
		output.Col("time_ns", "", output.Int, "CLOCK_MONOTONIC", func(w watchMove) any { return int64(w.m.At) }),
		output.Col("pid", "", output.Int, "process", func(w watchMove) any { return int(w.m.TGID) }),
		output.Col("tid", "", output.Int, "thread", func(w watchMove) any { return int(w.m.TID) }),
		output.Col("comm", "", output.Text, "its name", func(w watchMove) any { return w.l.name(w.m.TGID, w.m.TID) }),
		output.Col("from", "", output.Int, "CPU that it left", func(w watchMove) any { return int(w.m.From) }),
		output.Col("to", "", output.Int, "CPU that it came to", func(w watchMove) any { return int(w.m.To) }),
		output.Col("distance", "", output.Text, "what the two CPUs share", func(w watchMove) any {
			return w.l.totals.Topo.Distance(w.m.From, w.m.To).String()
		}))
	countList = output.NewList("watch", "count", "migrations of a thread in half a second, without eBPF",
		output.Col("time", "", output.Text, "when they were counted", func(c watchCount) any { return field.Stamp(c.at) }),
		output.Col("pid", "", output.Int, "process", func(c watchCount) any { return int(c.TGID) }),
		output.Col("tid", "", output.Int, "thread", func(c watchCount) any { return int(c.TID) }),
		output.Col("comm", "", output.Text, "its name", func(c watchCount) any { return c.comm }),
		output.Col("count", "", output.Int, "migrations", func(c watchCount) any { return c.N }),
		output.Col("from", "", output.Null, "not known", func(watchCount) any { return nil }),
		output.Col("to", "", output.Null, "not known", func(watchCount) any { return nil }))
	movedList = output.NewList("watch", "task", "the migrations of a thread in all",
		output.Col("pid", "", output.Int, "process", func(t watchTask) any { return int(t.TGID) }),
		output.Col("tid", ">TID", output.Int, "thread", func(t watchTask) any { return int(t.TID) }),
		output.Col("comm", "NAME", output.Text, "its name", func(t watchTask) any { return t.comm }),
		output.Col("moves", ">MOVES", output.Int, "migrations", func(t watchTask) any { return t.Moves }),
		output.TableCol(">SHARE", func(t watchTask) string { return share(t.Moves, t.of) }))
	pairList = output.NewList("watch", "pair", "the migrations from one CPU to another",
		output.Col("from", ">FROM", output.Int, "CPU", func(p watchPair) any { return int(p.From) }),
		output.Col("to", ">TO", output.Int, "CPU", func(p watchPair) any { return int(p.To) }),
		output.Col("distance", "DISTANCE", output.Text, "what the two CPUs share", func(p watchPair) any { return p.Distance.String() }),
		output.Col("count", ">MOVES", output.Int, "migrations", func(p watchPair) any { return p.Moves }),
		output.TableCol(">SHARE", func(p watchPair) string { return share(p.Moves, p.of) }))
	watchSummaryList = output.NewList("watch", "summary", "the sums of a watch",
		output.Col("duration_s", "", output.Number, "time watched", func(e watchEnd) any { return e.s.took.Seconds() }),
		output.Col("source", "", output.Text, "where moves come from", func(e watchEnd) any { return e.l.src.Kind().String() }),
		output.Col("exact", "", output.Bool, "the sums lack nothing",
			func(e watchEnd) any { return e.l.src.Single() && e.l.totals.Unfollowed == 0 }),
		output.Col("moves", "", output.Int, "migrations", func(e watchEnd) any { return e.l.totals.Moves }),
		output.Col("lost", "", output.Int, "of them without a line", func(e watchEnd) any { return e.s.lost }),
		output.Col("lost_output", "", output.Int, "of these, as the output was too slow", func(e watchEnd) any { return e.l.behind }),
		output.Col("unknown_pair", "", output.Int, "of unknown CPUs", func(e watchEnd) any { return e.l.totals.NoPair }),
		output.Col("unknown_task", "", output.Int, "of unknown tasks", func(e watchEnd) any { return e.l.totals.NoTask }),
		output.Col("unseen", "", output.Int, "hidden from eBPF", func(e watchEnd) any { return e.l.totals.Unseen }),
		output.Col("unfollowed", "", output.Int, "descendants that could not be watched", func(e watchEnd) any { return e.l.totals.Unfollowed }),
		output.Col("by_distance", "", output.Numbers, "migrations by what the two CPUs share", watchEnd.byDistance),
		output.Col("tasks", "", output.Int, "threads that migrated", func(e watchEnd) any { return len(e.l.totals.Tasks()) }),
		output.Col("exit_code", "", output.Int, "of the run", func(e watchEnd) any { return e.s.code }))
)
