package cli

import (
	"time"

	"piton/internal/topology"
	"piton/internal/watch"
)

// watchJSON prints an object a line.
type watchJSON struct{ line line }

func (p *watchJSON) take(dst []byte) []byte { return append(dst, p.line.end()...) }

func (p *watchJSON) begin(dst []byte, l *watchLog, t watch.Targets) []byte {
	ids := make([]any, len(t.IDs))
	for i, id := range t.IDs {
		ids[i] = int(id)
	}
	p.line.start("watch").add("v", Version).add("time", stamp(time.Now())).add("source", l.src.Kind().String()).
		add("single", l.src.Single()).add("scope", t.Scope.String()).add("targets", ids)
	return p.take(dst)
}

func (p *watchJSON) move(dst []byte, l *watchLog, m *watch.Move) []byte {
	p.line.start("move").add("time", stamp(l.wall(m.At))).add("time_ns", int64(m.At)).
		add("pid", int(m.TGID)).add("tid", int(m.TID)).add("comm", l.name(m.TGID, m.TID)).
		add("from", int(m.From)).add("to", int(m.To)).add("distance", l.totals.Topo.Distance(m.From, m.To).String())
	return p.take(dst)
}

func (p *watchJSON) count(dst []byte, l *watchLog, at time.Time, c watch.Count) []byte {
	p.line.start("count").add("time", stamp(at)).add("pid", int(c.TGID)).add("tid", int(c.TID)).
		add("comm", l.name(c.TGID, c.TID)).add("count", c.N).add("from", nil).add("to", nil)
	return p.take(dst)
}

func (p *watchJSON) summary(dst []byte, l *watchLog, s watchSummary) []byte {
	tasks, pairs := l.totals.Tasks(), l.totals.Pairs()
	for _, t := range tasks {
		p.line.start("task").add("pid", int(t.TGID)).add("tid", int(t.TID)).add("comm", l.name(t.TGID, t.TID)).
			add("moves", t.Moves)
		dst = p.take(dst)
	}
	for _, pair := range pairs {
		p.line.start("pair").add("from", int(pair.From)).add("to", int(pair.To)).
			add("distance", pair.Distance.String()).add("count", pair.Moves)
		dst = p.take(dst)
	}
	p.line.start("summary").add("duration_s", s.took.Seconds()).add("source", l.src.Kind().String()).
		add("exact", l.src.Single() && l.totals.Unfollowed == 0).
		add("moves", l.totals.Moves).add("lost", s.lost).add("lost_output", l.behind).
		add("unknown_pair", l.totals.NoPair).add("unknown_task", l.totals.NoTask).
		add("unseen", l.totals.Unseen).add("unfollowed", l.totals.Unfollowed).
		addObject("by_distance", int(topology.OtherNode-topology.SMTSibling)+1, func(i int) (string, any) {
			d := topology.SMTSibling + topology.Distance(i)
			return d.String(), l.totals.ByDistance[d]
		}).add("tasks", len(tasks)).add("exit_code", s.code)
	return p.take(dst)
}
