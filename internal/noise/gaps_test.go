package noise

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/bpf"
	"piton/internal/cpuset"
)

// Interruptions inside of others are taken off those.
func TestSplit(t *testing.T) {
	us := func(start, length int, kind bpf.NoiseKind, id int, comm string) bpf.Interruption {
		return bpf.Interruption{Start: time.Duration(start) * time.Microsecond, Length: time.Duration(length) * time.Microsecond, Kind: kind, ID: id, Comm: comm}
	}
	parts := split([]bpf.Interruption{
		us(110, 10, bpf.NoiseVector, 0xec, ""), // in the task
		us(125, 50, bpf.NoiseSoftIRQ, 9, ""),   // in the task
		us(130, 5, bpf.NoiseIRQ, -1, ""),       // in the softirq
		us(100, 100, bpf.NoiseTask, 7, "hog"),
		us(200, 3, bpf.NoiseVector, 0xec, ""), // after it
		us(210, 1, bpf.NoiseNMI, 0, ""),
	}, namer{map[int]string{-1: "eth0"}}.who)
	assert.ElementsMatch(t, []Part{
		{Who{Task, 7, "hog"}, 40 * time.Microsecond}, {Who{Interrupt, 0, "LOC"}, 13 * time.Microsecond}, {Who{SoftIRQ, 0, "RCU"}, 45 * time.Microsecond},
		{Who{IRQ, -1, "eth0"}, 5 * time.Microsecond}, {Who{NMI, 0, "NMI"}, time.Microsecond},
	}, parts)
}

func TestRest(t *testing.T) {
	loc := Part{Who{Interrupt, 0, "LOC"}, 5 * time.Microsecond}
	smi := Who{Kind: Hardware, Name: "SMI or hypervisor"}
	for _, tt := range []struct {
		name   string
		parts  []Part
		length time.Duration
		blind  bool
		want   []Part
	}{
		{"nobody", nil, 3 * time.Microsecond, false, []Part{{smi, 3 * time.Microsecond}}},
		{"nobody seen", nil, 3 * time.Microsecond, true, []Part{{Who{Kind: Unknown}, 3 * time.Microsecond}}},
		{"entry and exit", []Part{loc}, 20 * time.Microsecond, false, []Part{loc}},
		{"a stolen CPU", []Part{loc}, 105 * time.Microsecond, false, []Part{{smi, 100 * time.Microsecond}, loc}},
		{"half of it", []Part{{loc.Who, 60 * time.Microsecond}}, 100 * time.Microsecond, false, []Part{{loc.Who, 60 * time.Microsecond}}},
	} {
		assert.Equal(t, tt.want, rest(tt.parts, tt.length, tt.blind), tt.name)
	}
}

// TestPartsOfGaps: an interruption is of the gap that it was in, and of no later one.
func TestPartsOfGaps(t *testing.T) {
	timer := func(at time.Duration) bpf.Interruption {
		return bpf.Interruption{Start: at, Length: 2, CPU: 1, Kind: bpf.NoiseVector, ID: 0xec}
	}
	w := &Watcher{events: &bpf.Noise{}, pending: map[cpuset.CPU][]bpf.Interruption{1: {timer(5), timer(101), timer(205), timer(300)}}}
	assert.Equal(t, Interrupt, w.parts(Gap{CPU: 1, At: 100, Length: 10})[0].Kind)
	assert.Equal(t, Hardware, w.parts(Gap{CPU: 1, At: 150, Length: 10})[0].Kind)
	assert.Equal(t, Hardware, w.parts(Gap{CPU: 2, At: 200, Length: 10})[0].Kind)
	assert.Len(t, w.parts(Gap{CPU: 1, At: 200, Length: 10}), 1)
	assert.Equal(t, []bpf.Interruption{timer(300)}, w.pending[1])
}
