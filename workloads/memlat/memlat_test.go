package memlat

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func options(change func(*Options)) Options {
	o := Options{MiB: 1, LineBytes: 64, Nodes: []int{AnyNode}, Mapper: kernel.Mappings()}
	if change != nil {
		change(&o)
	}
	return o
}

func TestRunMeasuresEverySize(t *testing.T) {
	r, err := Run(t.Context(), options(nil))
	require.NoError(t, err)
	assert.Equal(t, 1<<20/64, r.Lines)
	require.Len(t, r.Curves, 1)
	points := r.Curves[0].Points
	assert.Equal(t, smallest, points[0].Bytes)
	assert.Equal(t, 1<<20, points[len(points)-1].Bytes)
	assert.Len(t, points, 8*perOctave+1)
	for i, p := range points {
		assert.Positive(t, p.Ns)
		assert.True(t, i == 0 || p.Bytes > points[i-1].Bytes)
	}
	assert.Positive(t, r.Slowest())
	assert.LessOrEqual(t, *r.HugeShare, 1.0)

	b, err := json.Marshal(r)
	require.NoError(t, err)
	var back Result
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, r.Picture(100), back.Picture(100))
	for _, width := range []int{0, 20, 80, 200} {
		for _, l := range r.Picture(width) {
			assert.LessOrEqual(t, utf8.RuneCountInString(l), width)
		}
	}
}

func TestCurveOfEachNode(t *testing.T) {
	r, err := Run(t.Context(), options(func(o *Options) { o.Nodes, o.Mapper = []int{0, 5}, anywhere{o.Mapper} }))
	require.NoError(t, err)
	require.Len(t, r.Curves, 2)
	assert.Equal(t, 5, r.Curves[1].Node)
	assert.Contains(t, r.Picture(100), "memory of node 5")
}

// anywhere maps memory wherever the kernel likes.
type anywhere struct{ kernel.Mapper }

func (a anywhere) Map(bytes, _ int) ([]byte, error) { return a.Mapper.Map(bytes, AnyNode) }

func TestRingIsOneCycleAtEverySize(t *testing.T) {
	memory := make([]byte, 64*1000)
	r := newRing(memory, 64)
	for n := 1; n <= 1000; n += 37 {
		require.NoError(t, r.grow(t.Context(), n))
		require.NoError(t, r.walk(), "%d lines", n)
		require.NoError(t, r.check(t.Context()))
		r.chase(unroll * 3)
	}
	cut := r.line(17)
	cut.next = cut.next.next
	assert.Error(t, r.walk())
	assert.Error(t, r.check(t.Context()))
}

// The order must look random: the mean distance between neighbours of a random
// cycle of n lines is n/3.
func TestRingIsInRandomOrder(t *testing.T) {
	const n = 5000
	r := newRing(make([]byte, 64*n), 64)
	require.NoError(t, r.grow(t.Context(), n))
	var sum float64
	for i := range n {
		sum += math.Abs(float64(r.line(i).next.index) - float64(i))
	}
	assert.InDelta(t, n/3, sum/n, n/50)
}

// curve makes points of (KiB, ns) pairs, three an octave in between.
func curve(upTo []float64, ns []float64) []Point {
	var out []Point
	for _, bytes := range sizes(128 << 20) {
		i := 0
		for i < len(upTo) && float64(bytes) > upTo[i]*1024 {
			i++
		}
		out = append(out, Point{bytes, ns[i]})
	}
	return out
}

func TestLevelsAreFoundWithoutTheirSizes(t *testing.T) {
	points := curve([]float64{32, 1024, 32768}, []float64{1, 4, 15, 100})
	caches := []Cache{{1, 32 << 10}, {2, 1 << 20}, {3, 32 << 20}}
	found := levels(points, 4e9, caches)
	require.Len(t, found, 4)
	for i, want := range []Level{
		{"L1", 1, 4, 36_000, 32 << 10}, {"L2", 4, 16, 1.17e6, 1 << 20}, {"L3", 15, 60, 3.75e7, 32 << 20}, {"memory", 100, 400, 0, 0},
	} {
		assert.Equal(t, want.Name, found[i].Name)
		assert.Equal(t, want.SysBytes, found[i].SysBytes)
		assert.InDelta(t, want.Ns, found[i].Ns, 0.01)
		assert.InDelta(t, want.Cycles, found[i].Cycles, 0.1)
		assert.InEpsilon(t, float64(want.UpToBytes)+1, float64(found[i].UpToBytes)+1, 0.15, want.Name)
	}

	// Disturbed points, and a slow rise inside a level, make no step.
	points[4].Ns, points[20].Ns, points[36].Ns = 9, 90, 400
	points[16].Ns, points[17].Ns, points[18].Ns = 4.4, 4.9, 5.4
	again := levels(points, 4e9, caches)
	require.Len(t, again, 4)
	for i := range again {
		assert.InEpsilon(t, found[i].Ns, again[i].Ns, 0.05)
	}
}

func TestLevelsThatSysDoesNotKnow(t *testing.T) {
	points := curve([]float64{48, 2048}, []float64{1, 4, 90})
	names := func(caches []Cache) []string {
		var out []string
		for _, l := range levels(points, 0, caches) {
			out = append(out, l.Name)
		}
		return out
	}
	assert.Equal(t, []string{"L1", "L2", "memory"}, names(nil))
	assert.Equal(t, []string{"L1", "L2", "memory"}, names([]Cache{{1, 48 << 10}, {2, 2 << 20}}))
	assert.Equal(t, []string{"L1", "L3", "memory"}, names([]Cache{{1, 48 << 10}, {2, 256 << 10}, {3, 2 << 20}}))
	assert.Equal(t, []string{"L1", "step 2", "memory"}, names([]Cache{{1, 48 << 10}}))
	assert.Equal(t, []string{"L1", "L2", "L3"}, names([]Cache{{1, 48 << 10}, {2, 2 << 20}, {3, 1 << 30}}))
	assert.Empty(t, levels(nil, 0, nil))
	assert.Equal(t, "memory", levels(points[:1], 0, nil)[0].Name)
}

func TestOptionsAreChecked(t *testing.T) {
	require.NoError(t, options(nil).Validate())
	for want, change := range map[string]func(*Options){
		"power of two":           func(o *Options) { o.LineBytes = 48 },
		"no node":                func(o *Options) { o.Nodes = nil },
		"0 MiB of memory are av": func(o *Options) { o.AvailableBytes = 1000 },
	} {
		_, err := Run(t.Context(), options(change))
		assert.ErrorContains(t, err, want)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, options(nil))
	assert.ErrorIs(t, err, context.Canceled)
}

func TestSize(t *testing.T) {
	assert.Equal(t, "32 KiB", Size(32<<10))
	assert.Equal(t, "1.5 MiB", Size(3<<19))
	assert.Equal(t, "2 GiB", Size(2<<30))
}

// FuzzLevels: whatever was measured, the levels are in order and inside.
func FuzzLevels(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1, 9, 9, 9, 9, 200, 200})
	f.Add([]byte{0, 255, 0, 255})
	f.Fuzz(func(t *testing.T, ns []byte) {
		var points []Point
		for i, v := range ns {
			points = append(points, Point{smallest << (i % 20) * (i/20 + 1), float64(v) / 3})
		}
		found := levels(points, 3e9, []Cache{{1, 32 << 10}})
		for i, l := range found {
			if l.Name == "" || math.IsNaN(l.Ns) || i > 0 && l.Ns < found[i-1].Ns {
				t.Fatalf("%+v", found)
			}
		}
		if len(points) > 0 && len(found) == 0 {
			t.Fatal("no level")
		}
	})
}

func BenchmarkChase(b *testing.B) {
	for _, kib := range []int{16, 256, 65536} {
		b.Run(Size(int64(kib)<<10), func(b *testing.B) {
			memory, err := kernel.Mappings().Map(kib<<10, AnyNode)
			require.NoError(b, err)
			defer func() { require.NoError(b, kernel.Mappings().Unmap(memory)) }()
			r := newRing(memory, 64)
			require.NoError(b, r.grow(b.Context(), kib<<10/64))
			for b.Loop() {
				r.chase(unroll)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/unroll, "ns/load")
		})
	}
}
