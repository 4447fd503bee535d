package field

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/model"
	"piton/internal/sample"
)

func TestFilter(t *testing.T) {
	const kthreadd, nq, evil = 0, 1, 2
	for text, want := range map[string][]int32{
		"nq":                    {nq},
		"NQ":                    {nq},
		"nq balu":               {nq},
		"nq root":               nil,
		"364":                   {nq},
		"on=3":                  {nq},
		"on:3":                  {nq},
		"on==3":                 {nq},
		"on = 3":                {nq},
		"on=1,3":                {nq, evil},
		"on!=3":                 {evil}, // kthreadd has no CPU, so nothing is known of it
		"on!=1,3":               nil,
		"on=2-5":                {nq},
		"on!=2-5,8":             {evil},
		"on=0-14:3":             {nq},
		"allowed~5":             {nq},
		"allowed~7-9":           {nq},
		"allowed~8-9":           nil, // of the others it is not known
		"allowed~^0-":           {nq},
		"mig>10":                {nq},
		"mig>=41 mig<=41":       {nq},
		"mig>41":                nil,
		"user:root":             {kthreadd, evil},
		"user:ROOT":             {kthreadd, evil},
		"user:roo":              nil,
		"user!=root":            {nq},
		"user=balu,root":        {kthreadd, nq, evil},
		"user=1000":             {nq},
		"user!=1000":            {kthreadd, evil},
		"nice<0":                {evil},
		"nice=-5":               {evil},
		"state=R":               {nq, evil},
		"s=R,S":                 {kthreadd, nq, evil},
		"policy=fifo":           {evil},
		"pid=2,4000":            {kthreadd, evil},
		"comm~^nq.*s$":          {nq},
		`command~"n.*s 16"`:     {nq},
		`"./nqueens 16"`:        {nq},
		"cpu%>50":               {nq},
		"cpu%>50%":              {nq},
		"cpu%=99.8":             {nq},
		"res>1M":                {nq},
		"rss_bytes>=1228800":    {nq},
		"time>4m":               {nq},
		"time>1h":               nil,
		"allowed=0-7":           {nq},
		"allowed=0,1,2,3,4-7":   {nq},
		"  nq\t core=3 ":        {nq},
		"cpu>50":                {nq},
		"CPU<99":                nil,
		"cpu=99.8":              {nq},
		"delay>2 delay<3 user~": nil, // see below: an error
	} {
		f, err := ParseFilter(text)
		if text == "delay>2 delay<3 user~" {
			assert.ErrorContains(t, err, "a value is missing")
			continue
		}
		if assert.NoError(t, err, text) {
			assert.Equal(t, want, f.Select(nil, testModel()), text)
		}
	}
}

func TestFilterErrors(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat(`comm~x{1000} `, 300): "with this one they have more than 262144 instructions",
		"":                                   "the filter is empty",
		"  ":                                 "the filter is empty",
		"cpu=":                               "a value is missing",
		"cpu=x":                              `"x" is not a number`,
		"cpu=nan":                            `"nan" is not a number`,
		"cpu=inf":                            "is not a number",
		"cpu=0x3":                            "is not a number",
		"cpu=1,":                             `"" is not a number`,
		"on=2-1":                             "is not a number",
		"cpu=0-3":                            "(cpu is CPU%; the CPU a task is on is on=0-3)",
		"cpu>1,2":                            "> takes one number",
		"on~3":                               "cpu is a number, and ~ is for text",
		"user>root":                          "user is text, and > is for numbers",
		"user=a,":                            "missing beside the comma",
		"user=a,+1001":                       `"+1001" is not the name or number of a user`,
		"user!=01001":                        "without leading zeros",
		"comm~[":                             "not a regular expression",
		"nosuch=3":                           `there is no column "nosuch"`,
		"=3":                                 `a column is missing before "="`,
		`"open`:                              "a quote is not closed",
		`""`:                                 "a value is missing",
		"allowed=3-1":                        "runs backwards",
		"cpu=\x1b[31m":                       `"?[31m"`,
	} {
		_, err := ParseFilter(text)
		assert.ErrorContains(t, err, want, "%q", text)
	}
}

func TestWhyNone(t *testing.T) {
	for text, want := range map[string]string{
		"nq":                  "",
		"nq user:root":        "no task matches nq and user:root",
		"nq cpu>50 user:root": "no task matches nq cpu>50 and user:root",
		"nq zzz":              "no task matches zzz",
		`nq "z z"`:            `no task matches "z z"`,
		"cpu>100":             "no task matches cpu>100",
		"nq delay>5":          "no task matches delay>5",
		"oom>5":               "no task matches oom>5: OOM is not known of any task",
	} {
		f, err := ParseFilter(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, f.WhyNone(testModel()), text)
	}
	assert.Empty(t, (*Filter)(nil).WhyNone(testModel()))
}

func TestNilFilterMatches(t *testing.T) {
	var f *Filter
	assert.Len(t, f.Select(nil, testModel()), 3)
	assert.Empty(t, f.String())
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"nq", "cpu=3 mig>10 user:root", `comm~"a b"`, "pid=1,2", "res>1G", "time<5m", "a=", "世", "allowed=0-3:2"} {
		f.Add(s)
	}
	m := testModel()
	m.Tasks = append(m.Tasks, model.Task{})
	m.Sample.Tasks = append(m.Sample.Tasks, &sample.Task{LastCPU: -1}) // a task of which nothing is known
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := ParseFilter(text)
		if err != nil {
			return
		}
		again, err := ParseFilter(filter.String())
		require.NoError(t, err)
		require.Equal(t, filter.Select(nil, m), again.Select(nil, m))
	})
}

func TestSortSigns(t *testing.T) {
	m := &model.Model{Sample: &sample.Sample{}, Tasks: make([]model.Task, 7)}
	for _, nice := range []int8{0, 5, -3, 0, 0, -20, 19} {
		m.Sample.Tasks = append(m.Sample.Tasks, &sample.Task{Nice: nice})
	}
	nan := float32(math.NaN())
	for i, percent := range []float32{nan, 0, 7, 0, nan, 3, 0} {
		m.Tasks[i].CPUPercent = percent
	}
	for _, tt := range []struct {
		id   string
		desc bool
		want []int32
	}{
		{"nice", false, []int32{5, 2, 0, 3, 4, 1, 6}},
		{"nice", true, []int32{6, 1, 0, 3, 4, 2, 5}},
		{"cpu_percent", false, []int32{1, 3, 6, 5, 2, 0, 4}},
		{"cpu_percent", true, []int32{2, 5, 1, 3, 6, 0, 4}},
	} {
		c, ok := Lookup(tt.id)
		require.True(t, ok)
		rows := []int32{0, 1, 2, 3, 4, 5, 6}
		Sort(rows, m, *c, tt.desc)
		assert.Equal(t, tt.want, rows, "%s desc %v", tt.id, tt.desc)
	}
}

// bigModel has n tasks with random figures.
func bigModel(n int) *model.Model {
	m := &model.Model{Sample: &sample.Sample{}}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		m.Sample.Tasks = append(m.Sample.Tasks, &sample.Task{ID: &sample.Identity{Comm: "task", Cmdline: "/usr/bin/Some/Task --with arguments", User: "u"}})
		m.Tasks = append(m.Tasks, model.Task{CPUPercent: float32(rng.IntN(100))})
		m.Sample.Tasks[i].TID = 1
	}
	return m
}

func BenchmarkSort10000(b *testing.B) {
	m := bigModel(10_000)
	c, _ := Lookup("cpu%")
	rows := (*Filter)(nil).Select(nil, m)
	shuffled := slices.Clone(rows)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(rows), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for b.Loop() {
		copy(rows, shuffled)
		Sort(rows, m, *c, true)
	}
}

func BenchmarkFilter10000(b *testing.B) {
	m := bigModel(10_000)
	f, err := ParseFilter("nosuchword cpu%>3")
	require.NoError(b, err)
	var rows []int32
	for b.Loop() {
		rows = f.Select(rows[:0], m)
	}
}

func BenchmarkCells60x15(b *testing.B) {
	m := testModel()
	columns, err := Select(Process)
	require.NoError(b, err)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = buf[:0]
		for range 60 {
			for _, c := range columns {
				buf = AppendCell(buf, c, Row{M: m, I: 1}, max(c.Width, 40))
			}
		}
	}
}
