package sample

import (
	"os"
	"testing"

	"piton/internal/kernel"
)

// BenchmarkScan reads this machine with some thousand idle processes more.
func BenchmarkScan(b *testing.B) {
	startIdle(b, 2000)
	for _, bc := range []struct {
		name  string
		needs func(s *Sample) Needs
	}{
		{"basic", func(*Sample) Needs { return Needs{} }},
		{"screen", func(s *Sample) Needs {
			return Needs{Affinity: true, Switches: true, Migrations: true, ThreadDelay: true, ThreadAttr: true, Watch: lastTIDs(s, 50)}
		}},
		{"threads", func(*Sample) Needs { return Needs{Threads: true} }},
		{"all", func(*Sample) Needs { return Needs{All: true, Affinity: true, Migrations: true, Identity: true} }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := liveSampler(b, Needs{})
			for range 2 { // the descriptors are opened in the second
				n, err := s.Read()
				if err != nil {
					b.Fatal(err)
				}
				s.SetNeeds(bc.needs(n))
			}
			b.ReportAllocs()
			tasks, before := 0, ownTime(b)
			for b.Loop() {
				n, err := s.Read()
				if err != nil {
					b.Fatal(err)
				}
				tasks = len(n.Tasks)
			}
			perScan := float64(ownTime(b)-before) / float64(b.N)
			b.ReportMetric(perScan/1e6, "cpu-ms/scan")
			b.ReportMetric(perScan/float64(tasks), "cpu-ns/task")
		})
	}
}

// BenchmarkFirst is what stands between the start of piton and its first frame.
func BenchmarkFirst(b *testing.B) {
	startIdle(b, 2000)
	for b.Loop() {
		s := liveSampler(b, Needs{})
		if _, err := s.Read(); err != nil {
			b.Fatal(err)
		}
	}
}

// ownTime is the CPU time of the benchmark in ns, which other loads of the
// machine disturb less than the time by the clock.
func ownTime(b *testing.B) uint64 {
	ns, err := kernel.ProcessTime(kernel.TID(os.Getpid()))
	if err != nil {
		b.Fatal(err)
	}
	return ns
}

func lastTIDs(s *Sample, n int) []kernel.TID {
	var tids []kernel.TID
	for i := max(0, len(s.Tasks)-n); i < len(s.Tasks); i++ {
		tids = append(tids, s.Tasks[i].TID)
	}
	return tids
}
