package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/place"
)

func TestParsePlacement(t *testing.T) {
	minus5, zero := -5, 0
	for text, want := range map[string]Spec{
		"normal":               {},
		" Normal ":             {},
		"least-loaded":         {Strategy: place.LeastLoaded},
		"pack":                 {Strategy: place.Pack},
		"spread":               {Strategy: place.Spread},
		"llc":                  {Strategy: place.LLC},
		"node":                 {Strategy: place.NodeWide},
		"sibling-free":         {Strategy: place.SiblingFree},
		"cpu:3":                {CPUs: "3"},
		"cpu:0-14:2,^4":        {CPUs: "0-14:2,^4"},
		"cpu:node:1":           {CPUs: "node:1"},
		"fifo:10":              {Policy: kernel.FIFO, RTPrio: 10},
		"rr:99":                {Policy: kernel.RR, RTPrio: 99},
		"batch":                {Policy: kernel.Batch},
		"idle":                 {Policy: kernel.Idle},
		"nice:-5":              {Nice: &minus5},
		"batch+nice:0":         {Policy: kernel.Batch, Nice: &zero},
		"least-loaded+fifo:10": {Strategy: place.LeastLoaded, Policy: kernel.FIFO, RTPrio: 10},
		"nice:-5+cpu:1":        {CPUs: "1", Nice: &minus5},
		"aggregate":            {Aggregate: true},
		"nice:0+aggregate+llc": {Strategy: place.LLC, Aggregate: true, Nice: &zero},
	} {
		got, err := ParsePlacement(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		again, err := ParsePlacement(string(got.Name()))
		require.NoError(t, err)
		assert.Equal(t, got, again, "its name means the same")
	}
}

func TestBadPlacements(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "a part is missing",
		"fast":                "none of normal",
		"fifo":                "priority from 1 to 99",
		"fifo:0":              "priority from 1 to 99",
		"rr:100":              "priority from 1 to 99",
		"batch:3":             "takes no priority",
		"idle:":               "takes no priority",
		"nice":                "from -20 to 19",
		"nice:20":             "from -20 to 19",
		"nice:+x":             "from -20 to 19",
		"nice:+5":             "from -20 to 19",
		"fifo:+5":             "priority from 1 to 99",
		"rr:05":               "priority from 1 to 99",
		"cpu":                 "no CPU list",
		"aggregate:1":         "none of normal",
		"aggregate+fifo:1":    "a policy of its own",
		"aggregate+aggregate": "given twice",
		"cpu:":                "no CPU list",
		"cpu:0 1":             "no CPU list",
		"least-loaded:2":      "takes no value",
		"least-loaded+":       "a part is missing",
		"+fifo:1":             "a part is missing",
		"pack+spread":         "chosen twice",
		"cpu:1+cpu:2":         "chosen twice",
		"cpu:1+llc":           "chosen twice",
		"fifo:1+rr:1":         "set twice",
		"nice:1+nice:2":       "set twice",
		"normal+fifo:1":       "cannot be joined",
		"fifo:1+nice:-5":      "means nothing under FIFO",
		"nice:-5+idle":        "means nothing under IDLE",
		"fifo:10\x1b[31mxx":   "priority from 1 to 99",
	} {
		_, err := ParsePlacement(text)
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), want, text)
		assert.NotContains(t, err.Error(), "\x1b")
	}
}

func FuzzParsePlacement(f *testing.F) {
	for _, seed := range []string{"normal", "least-loaded+fifo:10", "cpu:0-3,^1+nice:-5", "rr:", "+", "nice:99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := ParsePlacement(text)
		if err != nil {
			return
		}
		again, err := ParsePlacement(string(spec.Name()))
		require.NoError(t, err)
		assert.Equal(t, spec, again)
	})
}

func TestStudiesAreValidated(t *testing.T) {
	good := Study{Workload: "nqueens", Args: []string{"-n", "8"}, Placements: []Placement{Normal, "batch"}, Runs: 10, Warmup: 1}
	require.NoError(t, good.Validate())
	for want, change := range map[string]func(*Study){
		"unknown workload":      func(s *Study) { s.Workload = "chess" },
		"no option":             func(s *Study) { s.Args = []string{"--colour"} },
		"at least one":          func(s *Study) { s.Placements = nil },
		"at most 32":            func(s *Study) { s.Placements = make([]Placement, 33) },
		"runs must be 1":        func(s *Study) { s.Runs = 0 },
		"warm-up runs must":     func(s *Study) { s.Warmup = -1 },
		"time limit":            func(s *Study) { s.Timeout = -1 },
		"given twice":           func(s *Study) { s.Placements = []Placement{"nice:1+cpu:2", "cpu:2+nice:1"} },
		"none of normal":        func(s *Study) { s.Placements = []Placement{"faster"} },
		"more than the 10 rows": func(s *Study) { s.Workload, s.Args = "matrix", []string{"-n", "10", "--threads", "11"} },
	} {
		s := good
		change(&s)
		assert.ErrorContains(t, s.Validate(), want)
	}
}

func TestEqualStudiesHaveOneSpelling(t *testing.T) {
	a := Study{Workload: "nqueens", Args: []string{"--threads=2"}, Placements: []Placement{"Normal", "nice:-5+cpu:2"}}
	b := Study{Workload: "nqueens", Args: []string{"-n", "13", "--threads", "2"}, Placements: []Placement{"normal", "cpu:2+nice:-5"}}
	assert.Equal(t, b, a.Canonical())
	assert.Equal(t, b, b.Canonical())
}
