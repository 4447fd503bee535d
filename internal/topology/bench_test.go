package topology_test

import (
	"testing"

	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

func BenchmarkRead(b *testing.B) {
	roots := map[string]string{"this-machine": "/"}
	for _, shape := range []string{"2c", "64c4n", "512c8n2t"} {
		roots[shape] = topologytest.Host(b, shape)
	}
	for name, root := range roots {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := topology.Read(root); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/for a list", func(b *testing.B) {
			for b.Loop() {
				if _, err := topology.ReadFor(root, "0-1"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
