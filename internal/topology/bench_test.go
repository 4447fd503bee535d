package topology_test

import (
	"testing"

	"piton/internal/topology"
)

func BenchmarkReadThisMachine(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := topology.Read("/"); err != nil {
			b.Fatal(err)
		}
	}
}
