package chat

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestPicture(t *testing.T) {
	r := Result{Heard: 1000, PerS: 5000, Aggregation: bySlices, Why: "this kernel has no sched_ext", Processes: []Usage{
		{Role: "server", CPUs: "0", UserSeconds: 1, SystemSeconds: 3, Voluntary: 400}, {Role: "client", CPUs: "1", UserSeconds: 1, SystemSeconds: 1, Involuntary: 100}}}
	for _, u := range r.Processes {
		r.Sum.add(u)
	}
	text := strings.Join(r.Picture(100), "\n")
	for _, want := range []string{"5,000 messages/s received; per message 0.500 switches", "server 0  on CPU 0", "░", "slices of 100 ms; this kernel has no sched_ext"} {
		assert.Contains(t, text, want)
	}
	for _, width := range []int{1, 20, 60, 200} {
		for _, line := range r.Picture(width) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), width)
		}
	}
}
