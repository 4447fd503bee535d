package irq

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkParseLarge parses what a server with 512 CPUs and 1,000 lines writes.
func BenchmarkParseLarge(b *testing.B) {
	var text strings.Builder
	for c := range 512 {
		fmt.Fprintf(&text, " CPU%d", c)
	}
	for n := range 1000 {
		fmt.Fprintf(&text, "\n%4d:%s  PCI-MSIX-0000:3b:00.0 %d-edge eth0-TxRx-%d", n, strings.Repeat("          0", 512), n, n)
	}
	data := []byte(text.String())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseInterrupts(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMonitor reads this machine's.
func BenchmarkMonitor(b *testing.B) {
	m := NewMonitor("/")
	b.ReportAllocs()
	for b.Loop() {
		t, err := m.Table()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(t.Rows)), "lines")
	}
}

// BenchmarkMovable asks for one line of this machine.
func BenchmarkMovable(b *testing.B) {
	fs := New("/")
	for b.Loop() {
		fs.Movable(36)
	}
}
