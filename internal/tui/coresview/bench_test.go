package coresview

import (
	"testing"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
)

// crowded is a second of a machine of 512 CPUs with that many different moves.
func crowded(moves int) *model.Model {
	s := &sample.Sample{Seq: 1, HaveMoves: true, Migrations: sample.SourceBPF}
	x := uint32(1)
	next := func(n int) int { x = x*1664525 + 1013904223; return int(x>>8) % n }
	for range moves {
		s.Moves = append(s.Moves, sample.Move{TID: kernel.TID(1 + next(30000)), From: cpuset.CPU(next(512)), To: cpuset.CPU(next(512)), Count: 1})
	}
	return &model.Model{Sample: s, Topology: topologytest.Sized(512), Elapsed: time.Second, LeastLoaded: -1}
}

func BenchmarkRender512(b *testing.B) {
	th := theme.New(theme.Options{Depth: theme.Colors256})
	for _, level := range []model.MoveLevel{model.ByCPU, model.ByLLC, model.ByNode} {
		b.Run(level.String(), func(b *testing.B) {
			v := New(Options{})
			m := crowded(20000)
			for range 10 {
				v.Note(m)
			}
			v.level = int(level)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = len(v.Render(200, 46, th))
			}
			b.ReportMetric(float64(n), "bytes")
		})
	}
}

// A sample arrives and the map is drawn anew.
func BenchmarkSecond512(b *testing.B) {
	th := theme.New(theme.Options{Depth: theme.Colors256})
	for name, moves := range map[string]int{"1k": 1000, "100k": 100000} {
		b.Run(name, func(b *testing.B) {
			v, m := New(Options{}), crowded(moves)
			for b.Loop() {
				m.Sample.Seq++
				v.Note(m)
				v.Render(200, 46, th)
			}
		})
	}
}
