package stream

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func options(change func(*Options)) Options {
	o := Options{MiB: 1, Reps: 3, Threads: 1, Loops: Best, Node: AnyNode, Grid: NoGrid, LLCBytes: 1 << 20, Mapper: kernel.Mappings()}
	if change != nil {
		change(&o)
	}
	return o
}

func TestLoopsGiveTheSameOnEveryThreadCount(t *testing.T) {
	for _, loops := range AllLoops {
		if loops == Vector && !haveVector() {
			continue
		}
		for _, threads := range []int{1, 2, 7} {
			r, err := Run(t.Context(), options(func(o *Options) { o.Loops, o.Threads = loops, threads }))
			require.NoError(t, err)
			assert.Equal(t, "6750,1350,1800", r.Answer)
			require.Len(t, r.Ops, 4)
			for i, op := range r.Ops {
				assert.Equal(t, opNames[i], op.Name)
				assert.LessOrEqual(t, op.WorstMBs, op.MedianMBs)
				assert.LessOrEqual(t, op.MedianMBs, op.BestMBs)
				assert.Positive(t, op.WorstMBs)
			}
			assert.Equal(t, r.Ops[3].MedianMBs, r.Triad())
			assert.InDelta(t, 1, r.CacheTimes, 1e-9)
			assert.Positive(t, r.Seconds)
		}
	}
}

// The assembly gives bit by bit what Go gives, at every length and alignment of
// the sources.
func TestVectorLoopsAgreeWithPlain(t *testing.T) {
	if !haveVector() {
		t.Skip("this CPU has no AVX2")
	}
	memory, err := kernel.Mappings().Map(1<<20, AnyNode)
	require.NoError(t, err)
	defer func() { assert.NoError(t, kernel.Mappings().Unmap(memory)) }()
	got := unsafe.Slice((*float64)(unsafe.Pointer(&memory[0])), len(memory)/8)
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := make([]float64, 1100), make([]float64, 1100)
	for i := range a {
		a[i], b[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	for _, n := range []int{0, 1, 15, 16, 17, 64, 1000} {
		for _, shift := range []int{0, 1, 3} {
			x, y := a[shift:shift+n], b[2*shift:2*shift+n]
			for name, loop := range map[string]func(k kernels, dst []float64){
				"copy":  func(k kernels, dst []float64) { k.copy(dst, x) },
				"scale": func(k kernels, dst []float64) { k.scale(dst, x) },
				"add":   func(k kernels, dst []float64) { k.add(dst, x, y) },
				"triad": func(k kernels, dst []float64) { k.triad(dst, x, y) },
			} {
				want := make([]float64, n+1)
				want[n] = 42
				got[n] = 42
				loop(plain, want[:n])
				loop(vector, got[:n])
				assert.Equal(t, want, got[:n+1], "%s of %d elements from %d", name, n, shift)
			}
		}
	}
}

func TestWrongElementIsFound(t *testing.T) {
	for _, array := range []int{0, 1, 2} {
		x := make([][]float64, arrays)
		a, b, c := expected(4)
		for i, v := range []float64{a, b, c} {
			x[i] = make([]float64, 1000)
			for j := range x[i] {
				x[i][j] = v
			}
		}
		three := &three{a: x[0], b: x[1], c: x[2]}
		require.NoError(t, three.check(t.Context(), 4))
		x[array][500] *= 1 + 1e-9
		err := three.check(t.Context(), 4)
		require.ErrorContains(t, err, "array "+string("abc"[array])+" is wrong from element 500")
		x[array][500] = zero / zero
		assert.Error(t, three.check(t.Context(), 4), "NaN")
	}
}

var zero float64

// pins records where threads are sent; any other call panics on the nil interface.
type pins struct {
	kernel.Own
	mu   sync.Mutex
	sets map[string]int
	err  error
}

func (s *pins) Affinity(kernel.TID) (cpuset.Set, error) { return cpuset.Of(0, 1, 2), nil }

func (s *pins) SetAffinity(_ kernel.TID, cpus cpuset.Set) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets == nil {
		s.sets = map[string]int{}
	}
	s.sets[cpus.String()]++
	return s.err
}

// onNodes maps memory and records of which nodes.
type onNodes struct {
	kernel.Mapper
	nodes []int
}

func (m *onNodes) Map(bytes, node int) ([]byte, error) {
	m.nodes = append(m.nodes, node)
	return m.Mapper.Map(bytes, AnyNode)
}

// twoNodes is a machine of which CPU 3 is not allowed and node 2 has no memory.
func twoNodes(o *Options, s kernel.Own, m kernel.Mapper) {
	o.Scheduler, o.Mapper, o.Grid = s, m, Nodes
	o.Nodes = []Node{
		{ID: 0, CPUs: cpuset.Of(0, 1), Memory: true, Distances: map[int]int{0: 10, 1: 20}},
		{ID: 1, CPUs: cpuset.Of(2, 3), Memory: true, Distances: map[int]int{0: 21, 1: 10}},
		{ID: 2},
	}
}

func TestGridGoesFromEveryNodeToEveryMemory(t *testing.T) {
	s, m := &pins{}, &onNodes{Mapper: kernel.Mappings()}
	r, err := Run(t.Context(), options(func(o *Options) { twoNodes(o, s, m); o.Threads = 2 }))
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 0, 1}, m.nodes)
	assert.Equal(t, map[string]int{"0-1": 4, "2": 4, "0-2": 8}, s.sets, "and all come back")
	var cells [][4]int
	for _, c := range r.Cells {
		cells = append(cells, [4]int{c.FromCPU, c.FromNode, c.MemoryNode, c.Distance})
	}
	assert.Equal(t, [][4]int{{-1, 0, 0, 10}, {-1, 0, 1, 20}, {-1, 1, 0, 21}, {-1, 1, 1, 10}}, cells)
	require.NotNil(t, r.Fit)
	assert.True(t, r.Fit.Valid)
	assert.Positive(t, r.Triad())

	s, m = &pins{}, &onNodes{Mapper: kernel.Mappings()}
	r, err = Run(t.Context(), options(func(o *Options) { twoNodes(o, s, m); o.Grid = CPUs }))
	require.NoError(t, err)
	assert.Len(t, r.Cells, 6, "CPUs 0, 1 and 2")
	assert.Equal(t, map[string]int{"0": 2, "1": 2, "2": 2, "0-2": 6}, s.sets)
	lines := r.Picture(200)
	assert.Contains(t, lines[0], "memory 0")
	assert.Contains(t, lines[3], "from CPU 2 of node 1")
}

func TestRefusedCPUIsAnError(t *testing.T) {
	s := &pins{err: errors.New("refused")}
	_, err := Run(t.Context(), options(func(o *Options) { twoNodes(o, s, kernel.Mappings()) }))
	assert.ErrorContains(t, err, "refused")
}

// The real calls, on this machine's first node.
func TestRealGrid(t *testing.T) {
	home, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	r, err := Run(t.Context(), options(func(o *Options) {
		o.Grid, o.Scheduler = CPUs, kernel.System()
		o.Nodes = []Node{{ID: 0, CPUs: home, Memory: true, Distances: map[int]int{0: 10}}}
	}))
	if err != nil && strings.Contains(err.Error(), "function not implemented") {
		t.Skip("this kernel knows no nodes")
	}
	require.NoError(t, err)
	assert.Len(t, r.Cells, home.Len())
	now, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	assert.Equal(t, home, now)
}

func TestOptionsAreChecked(t *testing.T) {
	require.NoError(t, options(nil).Validate())
	for name, change := range map[string]func(*Options){
		"cannot be chosen":       func(o *Options) { o.Grid, o.Node = Nodes, 0 },
		"needs the machine's":    func(o *Options) { o.Grid = Nodes },
		"no node 3 with memory":  func(o *Options) { o.Node, o.Nodes = 3, []Node{{ID: 1, Memory: true}, {ID: 3}} },
		"2 MiB of memory are":    func(o *Options) { o.AvailableBytes = 2 << 20 },
		"where node 1 has 2 MiB": func(o *Options) { o.Node, o.Nodes = 1, []Node{{ID: 1, Memory: true, AvailableBytes: 2 << 20}} },
	} {
		_, err := Run(t.Context(), options(change))
		assert.ErrorContains(t, err, name)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, options(nil))
	assert.ErrorIs(t, err, context.Canceled)
}

func cells(values ...[2]float64) []Cell {
	var out []Cell
	for _, v := range values {
		op := Op{MedianMBs: v[1]}
		out = append(out, Cell{Distance: int(v[0]), Ops: []Op{op, op, op, op}})
	}
	return out
}

func TestFit(t *testing.T) {
	f := newFit(cells([2]float64{10, 6000}, [2]float64{20, 4000}, [2]float64{30, 2000}))
	assert.InDelta(t, 1, f.R2, 1e-9)
	assert.InDelta(t, -200, f.SlopeMBs, 1e-6)
	assert.InDelta(t, 8000, f.InterceptMBs, 1e-6)
	assert.Equal(t, "distance predicts bandwidth: 200 MB/s less for each unit, r² 1.00", f.Verdict)
	// The course report's machine: 16 to each of three nodes, all different.
	f = newFit(cells([2]float64{10, 6540}, [2]float64{16, 3014}, [2]float64{16, 3947}, [2]float64{16, 4236}))
	assert.True(t, f.Valid)
	assert.Contains(t, f.Verdict, "at distance 16 the bandwidths differ by a factor of 1.41")
	assert.Equal(t, []Spread{{10, 1, 6540, 6540}, {16, 3, 3014, 4236}}, f.Spreads)
	f = newFit(cells([2]float64{10, 6540}, [2]float64{10, 6500}))
	assert.Equal(t, "all distances are 10, so that they foretell nothing", f.Verdict)
	assert.Equal(t, "the firmware gives no distances", newFit(cells([2]float64{0, 1})).Verdict)
	assert.Contains(t, newFit(cells([2]float64{20, 1}, [2]float64{10, 2})).Verdict, "too few cells")
	assert.Contains(t, newFit(cells([2]float64{10, 1}, [2]float64{20, 2}, [2]float64{30, 3})).Verdict, "does not predict")
}

func TestPictureFitsItsWidthAndSurvivesJSON(t *testing.T) {
	r, err := Run(t.Context(), options(nil))
	require.NoError(t, err)
	b, err := json.Marshal(r)
	require.NoError(t, err)
	var back Result
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, r.Picture(100), back.Picture(100))
	for _, width := range []int{0, 10, 80, 200} {
		for _, l := range r.Picture(width) {
			assert.LessOrEqual(t, utf8.RuneCountInString(l), width)
		}
	}
	assert.Contains(t, strings.Join(r.Picture(100), "\n"), "less than 4×")
}
