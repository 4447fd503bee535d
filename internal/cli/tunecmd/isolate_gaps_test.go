package tunecmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/noise"
)

// TestGapLog: each gap is a line of JSON, and the sums are by who took of them; a table has the longest.
func TestGapLog(t *testing.T) {
	timer, hog := noise.Who{Kind: noise.Interrupt, Name: "LOC"}, noise.Who{Kind: noise.Task, Number: 7, Name: "hog"}
	print := func(format output.Format) string {
		var out bytes.Buffer
		l := &gapLog{watcher: &noise.Watcher{Least: time.Microsecond}, out: &out, format: format, boot: time.Unix(0, 0).UTC(), sums: map[gapOf]*gapSum{}}
		for n := range 2 * longestGaps {
			l.add(noise.Gap{CPU: 3, At: time.Duration(n) * time.Second, Length: 3 * time.Microsecond, Parts: []noise.Part{{Who: timer, Length: 2 * time.Microsecond}}})
		}
		l.add(noise.Gap{CPU: 3, At: time.Minute, Length: 5 * time.Millisecond, Parts: []noise.Part{{Who: hog, Length: 4 * time.Millisecond}, {Who: timer, Length: time.Microsecond}}})
		assert.Len(t, l.longest, longestGaps)
		l.print()
		return out.String()
	}
	lines := strings.Split(strings.TrimSpace(print(output.Format{Choice: flags.Choice{Value: output.AsJSON}})), "\n")
	assert.Equal(t, []string{
		`{"type":"gap","v":1,"cpu":3,"at":"1970-01-01T00:01:00Z","gap_ns":5000000,"kind":"task","tid":7,"irq":null,"name":"hog","parts":["hog 7","interrupt LOC"],"parts_ns":[4000000,1000]}`,
		`{"type":"gaps","v":1,"cpu":3,"kind":"task","tid":7,"irq":null,"name":"hog","gaps":1,"time_ns":4000000,"longest_ns":4000000,"longest_at":"1970-01-01T00:01:00Z"}`,
		`{"type":"gaps","v":1,"cpu":3,"kind":"interrupt","tid":null,"irq":null,"name":"LOC","gaps":21,"time_ns":41000,"longest_ns":2000,"longest_at":"1970-01-01T00:00:00Z"}`,
	}, lines[2*longestGaps:])
	text := print(output.Format{Choice: flags.Choice{Value: output.AsTable}})
	assert.Contains(t, text, "21 gaps of 1µs and more in 0s of a thread that spun there, named by eBPF programs\n")
	assert.Contains(t, text, "3  00:01:00.000000  5ms  hog 7 4ms, interrupt LOC 1µs")
}
