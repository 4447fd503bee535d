package chat

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// The test program is a client or a server too.
const processWord = "chat-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == processWord {
		os.Exit(child.Main(os.Stdin, os.Stdout, runProcess))
	}
	os.Exit(m.Run())
}

// small is a chat of some ten milliseconds.
func small() Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Options{Rooms: 2, Messages: 5, Pairs: 1, Mapping: ByKernel, Command: []string{self, processWord}, Scheduler: kernel.System()}
}

func TestEverybodyIsHeard(t *testing.T) {
	for name, o := range map[string]Options{
		"one pair":  small(),
		"two pairs": {Rooms: 3, Messages: 4, Pairs: 2, Mapping: ByKernel},
		"pack":      {Rooms: 2, Messages: 3, Pairs: 2, Mapping: Pack},
		"pair":      {Rooms: 2, Messages: 3, Pairs: 2, Mapping: Pair},
		"spread":    {Rooms: 1, Messages: 3, Pairs: 1, Mapping: Spread},
		// More than a queue holds, so that speakers wait.
		"long": {Rooms: 1, Messages: 2 * queueLength, Pairs: 1, Mapping: ByKernel},
	} {
		t.Run(name, func(t *testing.T) {
			o.Command, o.Scheduler = small().Command, small().Scheduler
			r, err := Run(t.Context(), o)
			require.NoError(t, err)
			assert.EqualValues(t, o.Rooms*Members*Members*o.Messages, r.Heard)
			assert.Equal(t, o.Rooms*Members*4, r.Threads)
			assert.Positive(t, r.Seconds)
			assert.Positive(t, r.PerS)
			require.Len(t, r.Processes, 2*o.Pairs)
			assertSum(t, r)
			assert.Positive(t, r.Sum.Voluntary)
			assert.Positive(t, r.Sum.UserSeconds+r.Sum.SystemSeconds)
			assert.Equal(t, o.Mapping == ByKernel, r.Processes[0].CPUs == "")
			text, err := json.Marshal(r)
			require.NoError(t, err)
			for _, name := range []string{`"rooms":`, `"messages_per_second":`, `"voluntary_switches":`, `"migrations":`} {
				assert.Contains(t, string(text), name)
			}
		})
	}
}

// assertSum compares every number of Sum with those of the processes.
func assertSum(t *testing.T, r Result) {
	t.Helper()
	number := func(u Usage, field int) float64 {
		switch v := reflect.ValueOf(u).Field(field); v.Kind() {
		case reflect.Float64:
			return v.Float()
		case reflect.Uint64:
			return float64(v.Uint())
		case reflect.String:
			return 0
		default:
			t.Fatalf("%s of a kind that this test does not know", v.Kind())
			return 0
		}
	}
	for i := range reflect.TypeFor[Usage]().NumField() {
		var want float64
		for _, u := range r.Processes {
			want += number(u, i)
		}
		assert.InDelta(t, want, number(r.Sum, i), 1e-9, reflect.TypeFor[Usage]().Field(i).Name)
	}
}

type fakeAggregator struct {
	ended int
	err   error
}

func (f *fakeAggregator) End() (any, error) { f.ended++; return map[string]int{"turns": 3}, f.err }

func TestAggregation(t *testing.T) {
	o := small()
	o.Mapping = Slices
	r, err := Run(t.Context(), o)
	if err != nil && strings.Contains(err.Error(), "came with Linux 6.12") {
		t.Skip(err)
	}
	require.NoError(t, err)
	assert.Equal(t, bySlices, r.Aggregation)

	o.Mapping = Aggregate
	o.Aggregator = OpenAggregator
	r, err = Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, bySlices, r.Aggregation)
	assert.Equal(t, "this piton is built without the scheduler", r.Why)
}

// With a scheduler the threads get policy EXT, which a kernel without sched_ext
// refuses; either way the scheduler is ended.
func TestAggregatorIsEnded(t *testing.T) {
	o, f := small(), &fakeAggregator{}
	o.Mapping = Aggregate
	o.Aggregator = func() (func() (any, error), error) { return f.End, nil }
	r, err := Run(t.Context(), o)
	assert.Equal(t, 1, f.ended)
	if _, statErr := os.Stat("/sys/kernel/sched_ext"); statErr != nil {
		assert.ErrorContains(t, err, "under sched_ext")
		return
	}
	require.NoError(t, err)
	assert.Equal(t, bySchedExt, r.Aggregation)
	f.err = errors.New("it was taken away")
	_, err = Run(t.Context(), o)
	assert.ErrorIs(t, err, f.err)
}

func TestOptionsAreChecked(t *testing.T) {
	require.NoError(t, small().Validate())
	for name, change := range map[string]func(*Options){
		"pairs over rooms": func(o *Options) { o.Pairs = 3 },
	} {
		o := small()
		change(&o)
		_, err := Run(t.Context(), o)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestEndsWithItsContext(t *testing.T) {
	o := small()
	o.Messages = MaxMessages
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := Run(ctx, o)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestProcessThatDoesNotStartIsAnError(t *testing.T) {
	o := small()
	o.Command = []string{"/no/such/program"}
	_, err := Run(t.Context(), o)
	assert.ErrorContains(t, err, "start a server")
	o.Command = []string{"/bin/false"}
	_, err = Run(t.Context(), o)
	assert.Error(t, err)
}

// A process whose input ends without a word ends too.
func TestProcessEndsWithItsInput(t *testing.T) {
	cmd := exec.Command(small().Command[0], processWord)
	assert.Error(t, cmd.Run(), "exit status 1")
}

func TestExpected(t *testing.T) {
	heard, sum := expected(1, 1)
	assert.EqualValues(t, 400, heard)
	var want uint64
	for speaker := range uint64(Members) {
		want += Members * hash(speaker<<32)
	}
	assert.Equal(t, want, sum)
	r := Result{Options: Options{Rooms: 1, Messages: 1}, Heard: 400, Checksum: sum + 1}
	assert.ErrorContains(t, r.Check(), "checksum")
	r.Heard--
	assert.ErrorContains(t, r.Check(), "399")
}

func TestMessages(t *testing.T) {
	var m message
	m.write(3, 19, 77)
	assert.True(t, m.right())
	for i := range MessageBytes {
		broken := m
		broken.bytes()[i] ^= 4
		assert.False(t, broken.right(), "byte %d", i)
	}
}

func TestDeal(t *testing.T) {
	cpus := []cpuset.CPU{2, 5, 7}
	for _, test := range []struct {
		m             Mapping
		pair, process int
		want          []cpuset.CPU
	}{
		{Pack, 0, 0, []cpuset.CPU{2}}, {Pack, 0, 1, []cpuset.CPU{5}}, {Pack, 1, 3, []cpuset.CPU{2}},
		{Pair, 0, 0, []cpuset.CPU{2}}, {Pair, 0, 1, []cpuset.CPU{2}}, {Pair, 4, 8, []cpuset.CPU{5}},
		{Spread, 1, 2, cpus}, {ByKernel, 1, 2, nil}, {Aggregate, 0, 1, nil},
	} {
		got, from := deal(test.m, cpus, test.pair, test.process, 40)
		assert.Equal(t, test.want, got, "%v", test)
		assert.Equal(t, test.m == Spread, from == 40)
	}
}

// BenchmarkAgainstPerf lets perf's hackbench send as many messages of 100 bytes
// between as many threads, over socket pairs and without a server between, in
// turn with the chat, and reports both rates and their ratio.
func BenchmarkAgainstPerf(b *testing.B) {
	perf, err := exec.LookPath("perf")
	if err != nil {
		b.Skip("perf is not installed")
	}
	o := small()
	o.Rooms, o.Messages = 10, 50
	var chat, reference []float64
	for b.Loop() {
		out, err := exec.Command(perf, "bench", "-f", "simple", "sched", "messaging", "-t", "-g", strconv.Itoa(o.Rooms), "-l", strconv.Itoa(o.Messages)).Output()
		require.NoError(b, err)
		seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		require.NoError(b, err)
		heard, _ := expected(o.Rooms, o.Messages)
		reference = append(reference, float64(heard)/seconds)
		r, err := Run(b.Context(), o)
		require.NoError(b, err)
		chat = append(chat, r.PerS)
	}
	b.ReportMetric(median(chat), "chat-messages/s")
	b.ReportMetric(median(reference), "perf-messages/s")
	b.ReportMetric(median(chat)/median(reference), "chat/perf")
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}

// BenchmarkChat is the study's ten rooms; the rate is in messages heard.
func BenchmarkChat(b *testing.B) {
	for _, m := range []Mapping{ByKernel, Pack, Pair, Spread, Slices} {
		b.Run(string(m), func(b *testing.B) {
			o := small()
			o.Rooms, o.Messages, o.Mapping = 10, 50, m
			var heard, seconds float64
			for b.Loop() {
				r, err := Run(b.Context(), o)
				require.NoError(b, err)
				heard, seconds = heard+float64(r.Heard), seconds+r.Seconds
			}
			b.ReportMetric(heard/seconds, "messages/s")
		})
	}
}
