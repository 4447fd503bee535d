package record

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
)

// living is a run of so many tasks of which a tenth run between two samples.
func living(tasks int) func() *sample.Sample {
	r := rand.New(rand.NewPCG(1, uint64(tasks)))
	began := time.Unix(1_800_000_000, 0)
	s := &sample.Sample{Wall: began, Host: sample.Host{TicksPerSecond: 100}, CPUs: make([]sample.CPU, 8)}
	for i := range s.CPUs {
		s.CPUs[i].ID = cpuset.CPU(i)
	}
	for i := range tasks {
		id := &sample.Identity{Comm: fmt.Sprintf("worker-%d", i%50), Cmdline: fmt.Sprintf("/usr/lib/app/worker --shard %d --of %d", i, tasks), User: "app", Full: true}
		s.Tasks = append(s.Tasks, &sample.Task{TID: kernel.TID(i*3 + 1), TGID: kernel.TID(i*3 + 1), PPID: 1, StartTicks: uint64(i * 7), ID: id, State: 'S', Threads: 1,
			Priority: 20, Affinity: cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7), RunNs: r.Uint64N(1e12), RunDelayNs: r.Uint64N(1e10), RSSPages: r.Int64N(1e5), Slices: r.Uint64N(1e6),
			Have: sample.HaveTime | sample.HaveRun | sample.HaveAffinity})
	}
	return func() *sample.Sample {
		own := *s
		own.Seq, own.At = s.Seq+1, s.At+time.Second
		own.Wall = began.Add(own.At)
		own.CPUs = append([]sample.CPU(nil), s.CPUs...)
		for i := range own.CPUs {
			own.CPUs[i].UserTicks += r.Uint64N(100)
			own.CPUs[i].IdleTicks += r.Uint64N(100)
		}
		own.Tasks = append([]*sample.Task(nil), s.Tasks...)
		for i := range own.Tasks {
			if r.IntN(10) == 0 {
				t := *own.Tasks[i]
				t.RunNs += r.Uint64N(1e7)
				t.RunDelayNs += r.Uint64N(1e5)
				t.Slices += 1 + r.Uint64N(20)
				t.VoluntarySwitches = t.Slices
				t.LastCPU = int32(r.IntN(8))
				own.Tasks[i] = &t
			}
		}
		s = &own
		return s
	}
}

// written is a record of so many samples.
func written(b *testing.B, tasks, samples int) []byte {
	b.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Topology: topologytest.Sized(8)})
	require.NoError(b, err)
	next := living(tasks)
	for range samples {
		require.NoError(b, w.Write(next()))
	}
	return out.Bytes()
}

func BenchmarkWrite(b *testing.B) {
	for _, tasks := range []int{200, 1000, 10_000} {
		b.Run(fmt.Sprint(tasks), func(b *testing.B) {
			var out bytes.Buffer
			w, err := NewWriter(&out, Options{Topology: topologytest.Sized(8)})
			require.NoError(b, err)
			next := living(tasks)
			for range b.N {
				b.StopTimer()
				s := next()
				b.StartTimer()
				require.NoError(b, w.Write(s))
			}
			b.ReportMetric(float64(out.Len())/float64(b.N), "B/sample")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, tasks := range []int{1000, 10_000} {
		file := written(b, tasks, 2*blockSamples)
		b.Run(fmt.Sprint(tasks), func(b *testing.B) {
			var f *Reader
			for range b.N {
				if f == nil {
					f, _ = NewReader(bytes.NewReader(file), int64(len(file)))
				}
				if _, _, err := f.Next(); err == io.EOF {
					f = nil
				}
			}
		})
	}
}

// BenchmarkSeek opens an hour of 1,000 tasks and goes to its middle.
func BenchmarkSeek(b *testing.B) {
	file := written(b, 1000, 3600)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		f, err := NewReader(bytes.NewReader(file), int64(len(file)))
		require.NoError(b, err)
		f.Seek(time.Unix(1_800_001_800, 0), 0)
		for {
			s, _, err := f.Next()
			require.NoError(b, err)
			if s.At >= 1800*time.Second {
				break
			}
		}
	}
}
