package watchcmd

import (
	"bytes"
	"fmt"
	"time"

	"piton/internal/chart"
	"piton/internal/cli/output"
	"piton/internal/topology"
	"piton/internal/watch"
)

// watchText prints for people.
type watchText struct{}

const (
	watchHead = "%-15s %7s %7s %-15s %4s %4s  %s\n"
	watchRow  = "%-15s %7d %7d %-15s %4d %4d  %s\n"
	countRow  = "%-15s %7d %7d %-15s %4s %4s  %d moves\n"
	clock     = "15:04:05.000000"
)

func (*watchText) begin(dst []byte, _ *watchLog, _ watch.Targets) []byte {
	return fmt.Appendf(dst, watchHead, "TIME", "PID", "TID", "NAME", "FROM", "TO", "DISTANCE")
}

func (*watchText) move(dst []byte, l *watchLog, m *watch.Move) []byte {
	return fmt.Appendf(dst, watchRow, l.wall(m.At).Format(clock), m.TGID, m.TID, cleaned(l.name(m.TGID, m.TID)),
		m.From, m.To, l.totals.Topo.Distance(m.From, m.To))
}

func (*watchText) count(dst []byte, l *watchLog, at time.Time, c watch.Count) []byte {
	return fmt.Appendf(dst, countRow, at.Format(clock), c.TGID, c.TID, cleaned(l.name(c.TGID, c.TID)), "?", "?", c.N)
}

// mostRows is how many rows of a table of sums are printed; JSON has all.
const mostRows = 20

func (p *watchText) summary(dst []byte, l *watchLog, s watchSummary) []byte {
	t := l.totals
	out := bytes.NewBuffer(dst)
	tasks, pairs := t.Tasks(), t.Pairs()
	fmt.Fprintf(out, "\n%s in %.3f s, of %s: %s\n", chart.Plural(int(t.Moves), "move"), s.took.Seconds(),
		chart.Plural(len(tasks), "thread"), l.sourceWords())
	p.caveats(out, l, s)
	if t.Moves > 0 {
		p.tables(out, l, tasks, pairs)
	}
	return out.Bytes()
}

// caveats says what the lines or the sums lack.
func (*watchText) caveats(out *bytes.Buffer, l *watchLog, s watchSummary) {
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
func (*watchText) tables(out *bytes.Buffer, l *watchLog, tasks []watch.TaskTotal, pairs []watch.PairTotal) {
	t := l.totals
	share := func(moves uint64) string { return output.Percent(float64(moves)/float64(t.Moves), 1) }
	byTask := output.NewTable(">TID", "NAME", ">MOVES", ">SHARE")
	for _, task := range tasks[:min(mostRows, len(tasks))] {
		byTask.Add(task.TID, output.Dash(l.name(task.TGID, task.TID)), task.Moves, share(task.Moves))
	}
	out.WriteByte('\n')
	byTask.Write(out)
	more(out, len(tasks), "thread")
	if len(pairs) == 0 {
		return
	}
	byDistance := output.NewTable("DISTANCE", ">MOVES", ">SHARE")
	for d := topology.SMTSibling; d <= topology.OtherNode; d++ {
		byDistance.Add(d, t.ByDistance[d], share(t.ByDistance[d]))
	}
	out.WriteByte('\n')
	byDistance.Write(out)
	byPair := output.NewTable(">FROM", ">TO", "DISTANCE", ">MOVES", ">SHARE")
	for _, p := range pairs[:min(mostRows, len(pairs))] {
		byPair.Add(p.From, p.To, p.Distance, p.Moves, share(p.Moves))
	}
	out.WriteByte('\n')
	byPair.Write(out)
	more(out, len(pairs), "pair")
}

func more(out *bytes.Buffer, n int, what string) {
	if n > mostRows {
		fmt.Fprintf(out, "and %s more (-o json has all)\n", chart.Plural(n-mostRows, what))
	}
}

// watchJSON prints an object a line.
type watchJSON struct{ line output.Line }

func (p *watchJSON) take(dst []byte) []byte { return append(dst, p.line.End()...) }

func (p *watchJSON) begin(dst []byte, l *watchLog, t watch.Targets) []byte {
	ids := make([]any, len(t.IDs))
	for i, id := range t.IDs {
		ids[i] = int(id)
	}
	p.line.Start("watch").Add("time", output.Stamp(time.Now())).Add("source", l.src.Kind().String()).
		Add("single", l.src.Single()).Add("scope", t.Scope.String()).Add("targets", ids)
	return p.take(dst)
}

func (p *watchJSON) move(dst []byte, l *watchLog, m *watch.Move) []byte {
	p.line.Start("move").Add("time", output.Stamp(l.wall(m.At))).Add("time_ns", int64(m.At)).
		Add("pid", int(m.TGID)).Add("tid", int(m.TID)).Add("comm", l.name(m.TGID, m.TID)).
		Add("from", int(m.From)).Add("to", int(m.To)).Add("distance", l.totals.Topo.Distance(m.From, m.To).String())
	return p.take(dst)
}

func (p *watchJSON) count(dst []byte, l *watchLog, at time.Time, c watch.Count) []byte {
	p.line.Start("count").Add("time", output.Stamp(at)).Add("pid", int(c.TGID)).Add("tid", int(c.TID)).
		Add("comm", l.name(c.TGID, c.TID)).Add("count", c.N).Add("from", nil).Add("to", nil)
	return p.take(dst)
}

func (p *watchJSON) summary(dst []byte, l *watchLog, s watchSummary) []byte {
	tasks, pairs := l.totals.Tasks(), l.totals.Pairs()
	for _, t := range tasks {
		p.line.Start("task").Add("pid", int(t.TGID)).Add("tid", int(t.TID)).Add("comm", l.name(t.TGID, t.TID)).Add("moves", t.Moves)
		dst = p.take(dst)
	}
	for _, pair := range pairs {
		p.line.Start("pair").Add("from", int(pair.From)).Add("to", int(pair.To)).
			Add("distance", pair.Distance.String()).Add("count", pair.Moves)
		dst = p.take(dst)
	}
	p.line.Start("summary").Add("duration_s", s.took.Seconds()).Add("source", l.src.Kind().String()).
		Add("exact", l.src.Single() && l.totals.Unfollowed == 0).
		Add("moves", l.totals.Moves).Add("lost", s.lost).Add("lost_output", l.behind).
		Add("unknown_pair", l.totals.NoPair).Add("unknown_task", l.totals.NoTask).
		Add("unseen", l.totals.Unseen).Add("unfollowed", l.totals.Unfollowed).
		AddObject("by_distance", int(topology.OtherNode-topology.SMTSibling)+1, func(i int) (string, any) {
			d := topology.SMTSibling + topology.Distance(i)
			return d.String(), l.totals.ByDistance[d]
		}).Add("tasks", len(tasks)).Add("exit_code", s.code)
	return p.take(dst)
}
