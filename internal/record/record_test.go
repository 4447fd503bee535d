package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
)

// notRecorded are the fields of samples that are only there where one view asks for them.
var notRecorded = []string{"Traced", "Steps", "StepsLost", "Wakes", "Flows", "RunIntervals", "RunIntervalsLost"}

// fill gives every exported field that is reachable some value; lists get one or two entries.
func fill(r *rand.Rand, v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<32), r.Int64N(1e9)).In(time.FixedZone("", 3600))))
	case v.Type() == reflect.TypeFor[cpuset.Set]():
		v.Set(reflect.ValueOf(cpuset.Of(cpuset.CPU(r.IntN(200)), cpuset.CPU(r.IntN(200)))))
	case v.Type() == reflect.TypeFor[cpuset.CPU](), v.Type() == reflect.TypeFor[int32]():
		v.SetInt(1 + r.Int64N(int64(cpuset.MaxCPU)))
	case v.Type() == reflect.TypeFor[sample.Source]():
		v.SetUint(1 + r.Uint64N(uint64(sample.SourceBPF)))
	case v.Type() == reflect.TypeFor[error]():
		v.Set(reflect.ValueOf(errors.New(strings.Repeat("e", 1+r.IntN(9)))))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(2), 2))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(r, key)
		fill(r, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(r, v.Field(i))
			}
		}
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.String:
		v.SetString(strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(20)) + "\x1b\xff")
	case v.CanInt():
		v.SetInt(r.Int64() >> r.IntN(40) >> (64 - v.Type().Bits()))
	case v.CanUint():
		v.SetUint(1 | r.Uint64()>>r.IntN(40)>>(64-v.Type().Bits()))
	case v.CanFloat():
		v.SetFloat(float64(float32(r.NormFloat64())))
	default:
		panic("a field of a kind that samples did not have: " + v.Type().String())
	}
}

// made is the next sample of a made-up run, of which every field has a value.
func made(r *rand.Rand, before *sample.Sample) *sample.Sample {
	s := &sample.Sample{}
	fill(r, reflect.ValueOf(s).Elem())
	for _, name := range notRecorded {
		reflect.ValueOf(s).Elem().FieldByName(name).SetZero()
	}
	s.Host.TicksPerSecond, s.Seq, s.At = 100, 1, time.Second
	s.CPUs = make([]sample.CPU, 3)
	for i := range s.CPUs {
		fill(r, reflect.ValueOf(&s.CPUs[i]).Elem())
		s.CPUs[i].ID = cpuset.CPU(i * 2)
	}
	s.Tasks = nil
	if before != nil {
		s.Seq, s.At = before.Seq+1, before.At+time.Second
		s.Tasks = slices.DeleteFunc(slices.Clone(before.Tasks), func(*sample.Task) bool { return r.IntN(8) == 0 })
		for i, t := range s.Tasks {
			if r.IntN(3) == 0 {
				own := *t
				own.RunNs += r.Uint64N(1e9)
				if own.Group != nil && r.IntN(2) == 0 {
					group := *own.Group
					group.List = slices.Clone(group.List)
					group.List[0].Slices++
					own.Group = &group
				}
				s.Tasks[i] = &own
			}
		}
	}
	for range 3 {
		t := &sample.Task{}
		fill(r, reflect.ValueOf(t).Elem())
		t.TID = kernel.TID(1 + r.IntN(1000))
		for i := range t.Group.List {
			t.Group.List[i].TID = t.TID + kernel.TID(i)
		}
		if r.IntN(3) == 0 {
			t.Group, t.Extra, t.Affinity = nil, nil, cpuset.Set{}
		}
		s.Tasks = slices.DeleteFunc(s.Tasks, func(o *sample.Task) bool { return o.TID == t.TID })
		at, _ := sample.Find(s.Tasks, t.TID)
		s.Tasks = slices.Insert(s.Tasks, at, t)
	}
	return s
}

// perBlock is the number of samples of a block in tests.
const perBlock = 5

// run is a file of made-up samples.
func run(t testing.TB, seed uint64, n int) (file []byte, samples []*sample.Sample) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 43))
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Version: "test", Topology: topologytest.Sized(8)})
	require.NoError(t, err)
	w.most = perBlock
	var last *sample.Sample
	for range n {
		last = made(r, last)
		samples = append(samples, last)
		require.NoError(t, w.Write(last))
	}
	return out.Bytes(), samples
}

type read struct {
	*sample.Sample
	joined bool
}

// all reads a file to its end.
func all(t testing.TB, file []byte) (out []read, damaged int) {
	t.Helper()
	f, err := NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, 1
	}
	for {
		s, joined, err := f.Next()
		if err == io.EOF {
			return out, f.Damaged()
		}
		require.NoError(t, err)
		out = append(out, read{s, joined})
	}
}

// A field of a sample that is added is recorded, or named in notRecorded.
func TestEveryFieldComesBack(t *testing.T) {
	file, samples := run(t, 1, 2*perBlock+3)
	got, damaged := all(t, file)
	assert.Zero(t, damaged)
	require.Len(t, got, len(samples))
	for i, s := range samples {
		require.Equal(t, s, got[i].Sample, i)
		assert.Equal(t, i > 0, got[i].joined, i)
	}
}

// Rows that did not change stay the same, as those of a sampler do: the model takes them for
// tasks at rest.
func TestUnchangedRowsAreShared(t *testing.T) {
	file, samples := run(t, 2, perBlock)
	got, _ := all(t, file)
	shared := 0
	for i := 1; i < perBlock; i++ { // a block's first sample is read without the one before
		for _, task := range samples[i].Tasks {
			before, had := sample.Find(samples[i-1].Tasks, task.TID)
			if had && samples[i-1].Tasks[before] == task {
				now, _ := sample.Find(got[i].Tasks, task.TID)
				assert.Same(t, got[i-1].Tasks[before], got[i].Tasks[now])
				shared++
			}
		}
	}
	assert.Greater(t, shared, 10)
}

// What is read of a damaged file is what was written, up to the damage and from the next
// block on.
func TestDamageCostsTheRestOfABlock(t *testing.T) {
	const blocks = 3
	file, samples := run(t, 3, blocks*perBlock)
	whole, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(4, 4))
	check := func(damaged []byte, at int, cut bool) {
		got, places := all(t, damaged)
		block := 0
		for block+1 < blocks && whole.blocks[block+1].offset <= int64(at) {
			block++
		}
		seen := map[uint64]bool{}
		last := uint64(0)
		for _, s := range got {
			require.Equal(t, samples[s.Seq-1], s.Sample)
			require.Equal(t, last != 0 && last+1 == s.Seq, s.joined)
			seen[s.Seq], last = true, s.Seq
		}
		for i := range samples {
			of := i / perBlock
			if of < block || of > block && !cut {
				require.True(t, seen[uint64(i+1)], "sample %d, byte %d of block %d is damaged", i+1, at, block)
			}
		}
		if !cut {
			assert.Equal(t, 1, places, at)
			assert.Less(t, len(got), len(samples))
		}
	}
	for range 200 {
		at := r.IntN(len(file))
		check(file[:at], at, true)
		flipped := slices.Clone(file)
		flipped[at] ^= 1 << r.IntN(8)
		check(flipped, at, false)
	}
}

// A chunk that was written whole is read, whatever became of the next one.
func TestEachSampleIsWhole(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Topology: topologytest.Sized(2)})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(5, 5))
	var last *sample.Sample
	w.most = perBlock
	for n := range perBlock + 3 {
		last = made(r, last)
		before := out.Len()
		require.NoError(t, w.Write(last))
		got, _ := all(t, out.Bytes())
		require.Len(t, got, n+1)
		got, _ = all(t, out.Bytes()[:out.Len()-1])
		require.Len(t, got, n, before)
	}
}

// A sampler that begins anew does not follow the one before.
func TestNumbersBeginAnew(t *testing.T) {
	file, samples := run(t, 6, 5)
	got, _ := all(t, append(slices.Clone(file), file...))
	require.Len(t, got, 2*len(samples))
	assert.False(t, got[len(samples)].joined)
	assert.True(t, got[len(samples)+1].joined)
}

func TestSeek(t *testing.T) {
	file, samples := run(t, 8, 4*perBlock)
	f, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	for i := range f.blocks {
		f.blocks[i].from = time.Unix(int64(i*60), 0) // made-up samples have made-up times
	}
	for _, at := range []struct{ seconds, before, want int }{{-5, 0, 0}, {0, 0, 0}, {59, 0, 0}, {60, 0, 1}, {179, 1, 1}, {1e6, 0, 3}, {1e6, 9, 0}} {
		f.Seek(time.Unix(int64(at.seconds), 0), at.before)
		for i := range f.blocks {
			f.blocks[i].from = samples[i*perBlock].Wall
		}
		s, joined, err := f.Next()
		require.NoError(t, err)
		assert.False(t, joined)
		assert.Equal(t, samples[at.want*perBlock], s)
		for i := range f.blocks {
			f.blocks[i].from = time.Unix(int64(i*60), 0)
		}
	}
}

func TestNoCommandLineInTheFile(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for names, there := range map[Names]bool{NamesFull: true, NamesComm: false} {
		var out bytes.Buffer
		w, err := NewWriter(&out, Options{Names: names, Topology: topologytest.Sized(2)})
		require.NoError(t, err)
		s := made(r, nil)
		for _, task := range s.Tasks {
			task.ID.Cmdline, task.ID.Exe = "serve --password hunter2", "/opt/secret/serve"
		}
		require.NoError(t, w.Write(s))
		got, _ := all(t, out.Bytes())
		require.Len(t, got, 1)
		assert.Equal(t, there, got[0].Tasks[0].ID.Cmdline != "")
		assert.Equal(t, s.Tasks[0].ID.Comm, got[0].Tasks[0].ID.Comm)
		f, err := NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
		require.NoError(t, err)
		_, _, err = f.Next()
		require.NoError(t, err)
		assert.Equal(t, there, slices.ContainsFunc(f.texts.list, func(x string) bool {
			return strings.Contains(x, "hunter2") || strings.Contains(x, "secret")
		}))
	}
}

// Command lines that fill a block are cut, and nothing else is.
func TestManyLongCommandLines(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	s := made(r, nil)
	s.Tasks = nil
	for i := range 200 {
		task := &sample.Task{TID: kernel.TID(i + 1), TGID: kernel.TID(i + 1)}
		task.ID = &sample.Identity{Cmdline: strings.Repeat(string(rune('a'+i%26)), 128<<10-i), Comm: "c"}
		s.Tasks = append(s.Tasks, task)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Topology: topologytest.Sized(2)})
	require.NoError(t, err)
	require.NoError(t, w.Write(s))
	require.NoError(t, w.Write(s))
	got, _ := all(t, out.Bytes())
	require.Len(t, got, 2)
	assert.Equal(t, s.Tasks[0].ID.Cmdline, got[1].Tasks[0].ID.Cmdline)
	last := got[1].Tasks[199].ID.Cmdline
	assert.True(t, strings.HasPrefix(s.Tasks[199].ID.Cmdline, strings.TrimSuffix(last, cut)) && strings.HasSuffix(last, cut), last)
}

// The writer ends with the first error, and what it wrote is read.
func TestFullDisk(t *testing.T) {
	file, samples := run(t, 11, 20)
	disk := &limited{left: len(file) * 2 / 3}
	w, err := NewWriter(disk, Options{Topology: topologytest.Sized(8)})
	require.NoError(t, err)
	w.most = perBlock
	written := 0
	for _, s := range samples {
		if err = w.Write(s); err != nil {
			break
		}
		written++
	}
	require.ErrorIs(t, err, errFull)
	require.ErrorIs(t, w.Write(samples[0]), errFull)
	got, _ := all(t, disk.Bytes())
	assert.Len(t, got, written)
	assert.Greater(t, written, 5)
}

var errFull = errors.New("no space left on device")

type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), l.left)
	l.left -= n
	l.Buffer.Write(b[:n])
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

// packed is a file with a header and chunks of the given contents, whatever they are.
func packed(t testing.TB, header []byte, chunks ...[]byte) []byte {
	t.Helper()
	w, err := NewWriter(io.Discard, Options{})
	require.NoError(t, err)
	w.header = header
	w.begin(&sample.Sample{})
	for _, c := range chunks {
		w.chunk(kindSample, c, nil)
	}
	require.NoError(t, w.err)
	return w.out
}

// A later version's columns and tables are passed over, and what this file lacks is unknown.
func TestOtherColumns(t *testing.T) {
	saved := tables
	defer func() { tables = saved }()
	less, more := taskRows, taskRows
	less.columns = slices.DeleteFunc(slices.Clone(taskRows.columns), func(c column[task]) bool {
		return c.id == "last_cpu" || c.id == "run_delay" || c.id == "uid"
	})
	more.columns = slices.Insert(slices.Clone(taskRows.columns), 3, whole("shoe_size", "cm", func(r *task) *uint64 { return &r.Migrations }),
		text("colour", func(r *task) *string { return &r.id.Comm }))
	put := func(t *table[task]) { tables[2] = bound[task]{t, func(s *state) *[]*task { return &s.tasks }} }
	for name, version := range map[string]*table[task]{"less": &less, "more": &more} {
		tables = slices.Clone(saved)
		put(version)
		if name == "more" {
			tables = slices.Insert(tables, 1, coder(bound[moveRow]{&table[moveRow]{name: "later", columns: moveRows.columns}, func(s *state) *[]*moveRow { return &s.moves }}))
		}
		file, samples := run(t, 12, 10)
		tables = saved
		got, damaged := all(t, file)
		assert.Zero(t, damaged)
		require.Len(t, got, len(samples))
		for i, s := range samples {
			for k, task := range s.Tasks {
				if name == "less" {
					own, id := *task, *task.ID
					own.ID, own.LastCPU, own.RunDelayNs, id.UID = &id, -1, 0, 1<<32-1
					own.Have &^= sample.HaveRun
					task = &own
				}
				require.Equal(t, task, got[i].Tasks[k])
			}
		}
	}
}

// A file of marks before large chunks that are not right is not read over and over.
func TestFalseMarks(t *testing.T) {
	one := append([]byte(magic), make([]byte, 16)...)
	one = append(one, 0, 0, 0x80, 0, 1, 2, 3, 4) // 8 MB
	file := bytes.Repeat(one, 1<<20)
	reads := &counted{r: bytes.NewReader(file)}
	_, err := NewReader(reads, int64(len(file)))
	require.ErrorIs(t, err, ErrNoRecord)
	assert.Less(t, reads.bytes, 3*len(file)+2*mostRaw)
}

type counted struct {
	r     io.ReaderAt
	bytes int
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	c.bytes += len(b)
	return c.r.ReadAt(b, at)
}

// A few bytes that are right by their CRC must not take much memory.
func TestBombs(t *testing.T) {
	header, err := json.Marshal(Header{Tables: Tables(), Topology: topologytest.Sized(2)})
	require.NoError(t, err)
	zeros := make([]byte, mostRaw-1)
	bare, err := json.Marshal(Header{Tables: []TableHeader{{Name: "task"}}, Topology: topologytest.Sized(2)})
	require.NoError(t, err)
	rows := append([]byte{0, 1, 0xff, 0xff, 0xff, 0x03, 0, 0xff, 0xff, 0x03}, zeros[:mostRaw-64]...)
	for name, file := range map[string][]byte{
		"zeros":  packed(t, header, zeros),
		"rows":   packed(t, bare, rows),
		"header": packed(t, zeros),
	} {
		assert.Less(t, len(file), 64<<10, name)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, _ := all(t, file)
		runtime.ReadMemStats(&after)
		assert.Empty(t, got, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(300<<20), name)
	}
}

var update = flag.Bool("update", false, "write testdata/v1.piton if it is not there")

// Files of former versions are read for ever.
func TestOldFiles(t *testing.T) {
	const name = "testdata/v1.piton"
	if _, err := os.Stat(name); os.IsNotExist(err) && *update {
		file, samples := run(t, 13, perBlock+5)
		require.NoError(t, os.WriteFile(name, file, 0o644))
		require.NoError(t, os.WriteFile(name+".json", asJSON(t, samples[perBlock-2:perBlock+2]), 0o644))
	}
	file, err := os.ReadFile(name)
	require.NoError(t, err)
	got, damaged := all(t, file)
	assert.Zero(t, damaged)
	require.Len(t, got, perBlock+5)
	var samples []*sample.Sample
	for _, s := range got[perBlock-2 : perBlock+2] {
		samples = append(samples, s.Sample)
	}
	want, err := os.ReadFile(name + ".json")
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(asJSON(t, samples)), "a field that was added since is one that the file does not have: take it out of the comparison here")
}

func asJSON(t *testing.T, samples []*sample.Sample) []byte {
	t.Helper()
	var all []sample.Sample
	for _, s := range samples {
		own := *s
		own.Collectors = nil // with errors
		all = append(all, own)
	}
	out, err := json.Marshal(all)
	require.NoError(t, err)
	return out
}
