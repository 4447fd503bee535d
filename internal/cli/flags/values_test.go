package flags

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func TestInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1s": time.Second, "500ms": 500 * time.Millisecond, "0.5": 500 * time.Millisecond, "2": 2 * time.Second,
		"10ms": 0, "2h": 0, "x": 0, "nan": 0, "0x1p1": 0, "-1": 0, "": 0, // 0 is refused
	} {
		i := Interval{Min: 100 * time.Millisecond, Max: time.Minute}
		err := i.Set(text)
		assert.Equal(t, want == 0, err != nil, "%q: %v", text, err)
		assert.Equal(t, want != 0, i.Given, text)
		assert.Equal(t, want, i.Duration, text)
	}
	assert.Empty(t, (&Interval{}).String(), "0 is no default in the help")
}

func TestPercent(t *testing.T) {
	for text, want := range map[string]float64{"1%": 0.01, "0.05": 0.05, "12.5%": 0.125, "0": 0, "100%": 0, "1": 0, "-1%": 0, "x": 0, "nan": 0} {
		var p Percent
		err := p.Set(text)
		assert.Equal(t, want == 0, err != nil, "%q: %v", text, err)
		assert.InDelta(t, want, p.Share, 1e-9, text)
	}
	assert.Equal(t, "12.5%", (&Percent{Share: 0.125}).String())
}

func TestPIDs(t *testing.T) {
	var l PIDs
	require.NoError(t, l.Set("3641, 3642"))
	require.NoError(t, l.Set("1"))
	assert.Equal(t, PIDs{3641, 3642, 1}, l)
	assert.Equal(t, "3641,3642,1", l.String())
	for _, text := range []string{"", "0", "-3", "+3", "x", "99999999999", "1,,2", "007"} {
		assert.Error(t, l.Set(text), text)
	}
	assert.Equal(t, kernel.TID(3641), l.Targets(0)[0].TID)
}

func TestMarks(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.String("filter", "", "")
	fs.String("sort", "", "")
	Samples.Add(fs, "sort", "filter")
	Optional.Add(fs, "filter")
	assert.True(t, Optional.Of(fs.Lookup("filter")))
	assert.False(t, Optional.Of(fs.Lookup("sort")))
	assert.Empty(t, FirstGiven(fs, Samples.Of))
	require.NoError(t, fs.Parse([]string{"--sort", "x"}))
	assert.Equal(t, "sort", FirstGiven(fs, Samples.Of))
	assert.Empty(t, FirstGiven(fs, Optional.Of))
}
