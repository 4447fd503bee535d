package tui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/proctable"
	"piton/internal/tui/theme"
	"piton/internal/tuitest"
)

// crowded is a screen of 200×50 over a machine of 5,000 processes, with some
// samples of it.
func crowded(b *testing.B) (*Model, []*model.Model) {
	topo := topologytest.Sized(8)
	machine := tuitest.New(topo)
	machine.Crowd(5000)
	m := New(Deps{Options: Options{Saved: Saved{Theme: theme.Options{Depth: theme.Colors256}, Interval: time.Second}},
		Sampler: &fakeSampler{out: make(chan *sample.Sample)}, Topology: topo, Inspect: fakeInspector{}, Tuning: &fakeTuning{}})
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	var models []*model.Model
	var last *model.Model
	for range 4 {
		last = model.Next(last, machine.Tick(), topo)
		models = append(models, last)
		m.Update(sampled{last})
	}
	m.View()
	b.ReportAllocs()
	return m, models
}

// BenchmarkSample is what the screen does once a second.
func BenchmarkSample(b *testing.B) {
	m, models := crowded(b)
	for i := 0; b.Loop(); i++ {
		m.Update(sampled{models[2+i%2]})
		m.View()
	}
}

// BenchmarkKey is what the screen does for a key that moves the cursor.
func BenchmarkKey(b *testing.B) {
	m, _ := crowded(b)
	keys := []tea.KeyPressMsg{{Code: tea.KeyDown}, {Code: tea.KeyUp}}
	for i := 0; b.Loop(); i++ {
		m.Update(keys[i%2])
		m.View()
	}
}

// BenchmarkSort is a key that puts all rows in another order.
func BenchmarkSort(b *testing.B) {
	m, _ := crowded(b)
	for b.Loop() {
		m.Update(tea.KeyPressMsg{Code: 'I', Text: "I"})
		m.View()
	}
}

// BenchmarkTree is a sample while the list is a tree.
func BenchmarkTree(b *testing.B) {
	m, models := crowded(b)
	m.procs.change(func(v *proctable.View) { v.Tree = proctable.ByParent })
	for i := 0; b.Loop(); i++ {
		m.Update(sampled{models[2+i%2]})
		m.View()
	}
}

// BenchmarkGroups is a sample while the list is a tree of control groups.
func BenchmarkGroups(b *testing.B) {
	m, models := crowded(b)
	m.procs.change(func(v *proctable.View) { v.Tree = proctable.ByGroup })
	for i := 0; b.Loop(); i++ {
		m.Update(sampled{models[2+i%2]})
		m.View()
	}
}

// BenchmarkDialog is a key in a dialog.
func BenchmarkDialog(b *testing.B) {
	m, _ := crowded(b)
	m.Update(tea.KeyPressMsg{Code: tea.KeyF6})
	keys := []tea.KeyPressMsg{{Code: tea.KeyDown}, {Code: tea.KeyUp}}
	for i := 0; b.Loop(); i++ {
		m.Update(keys[i%2])
		m.View()
	}
}
