package watchcmd

import (
	"time"

	"piton/internal/cli/output"
	"piton/internal/topology"
	"piton/internal/watch"
)

// watchJSON prints an object a line.
type watchJSON struct{ line output.Line }

func (p *watchJSON) take(dst []byte) []byte { return append(dst, p.line.End()...) }

func (p *watchJSON) begin(dst []byte, l *watchLog, t watch.Targets) []byte {
	ids := make([]any, len(t.IDs))
	for i, id := range t.IDs {
		ids[i] = int(id)
	}
	p.line.Start("watch").Add("v", output.Version).Add("time", output.Stamp(time.Now())).Add("source", l.src.Kind().String()).
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
		p.line.Start("task").Add("pid", int(t.TGID)).Add("tid", int(t.TID)).Add("comm", l.name(t.TGID, t.TID)).
			Add("moves", t.Moves)
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
