package cpuset

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ list, want, wantErr string }{
		{list: "", want: ""},
		{list: " \n", want: ""},
		{list: "0", want: "0"},
		{list: "0-3,8\n", want: "0-3,8"},
		{list: "0-3,8\n\x00", want: "0-3,8"},
		{list: "\n\x00", want: ""},
		{list: "8,0-3", want: "0-3,8"},
		{list: "1, 3 ,2", want: "1-3"},
		{list: "0-14:2", want: "0,2,4,6,8,10,12,14"},
		{list: "0-9:100", want: "0"},
		{list: "5-5", want: "5"},
		{list: "00007", want: "7"},
		{list: "0-65535", want: "0-65535"},
		{list: "65535", want: "65535"},
		{list: strings.Repeat("0-65535,", 9999) + "1", want: "0-65535"},

		{list: ",", wantErr: `CPU list ",": a CPU number is missing`},
		{list: "1,", wantErr: `CPU list "1,": a CPU number is missing`},
		{list: "1-", wantErr: `CPU list "1-": a CPU number is missing`},
		{list: "-1", wantErr: `CPU list "-1": a CPU number is missing`},
		{list: "1-2-3", wantErr: `CPU list "1-2-3": "2-3" is not a CPU number`},
		{list: "a", wantErr: `CPU list "a": "a" is not a CPU number`},
		{list: "+1", wantErr: `CPU list "+1": "+1" is not a CPU number`},
		{list: "1 2", wantErr: `CPU list "1 2": "1 2" is not a CPU number`},
		{list: "0\x001", wantErr: `CPU list "0\x001": "0\x001" is not a CPU number`},
		{list: "3-1", wantErr: `CPU list "3-1": range "3-1" runs backwards`},
		{list: "3:1", wantErr: `CPU list "3:1": stride without a range in "3:1"`},
		{list: "0-3:0", wantErr: `CPU list "0-3:0": stride 0 in "0-3:0"`},
		{list: "0-3:", wantErr: `CPU list "0-3:": a CPU number is missing`},
		{list: "65536", wantErr: `CPU list "65536": CPU number 65536 is above 65535`},
		{list: "0-99999999999999999999", wantErr: `CPU list "0-99999999999999999999": CPU number 99999999999999999999 is above 65535`},
		{list: "0-1:9223372036854775807", wantErr: `CPU list "0-1:9223372036854775807": CPU number 9223372036854775807 is above 65535`},
	} {
		got, err := Parse(tt.list)
		if tt.wantErr != "" {
			assert.EqualError(t, err, tt.wantErr)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, tt.want, got.String())
	}
}

func TestParseMask(t *testing.T) {
	for _, tt := range []struct{ mask, want, wantErr string }{
		{mask: "1", want: "0"},
		{mask: "0", want: ""},
		{mask: "ff\n", want: "0-7"},
		{mask: "00000000,000000ff\n\x00", want: "0-7"},
		{mask: "0xF0", want: "4-7"},
		{mask: "0Xf", want: "0-3"},
		{mask: "ff,00000001", want: "0,32-39"},
		{mask: "00000000,00000003", want: "0-1"},
		{mask: "1,0", want: "32"}, // words without their zeros
		{mask: "80000000,00000000,00000000", want: "95"},
		{mask: "8000000000000001", want: "0,63"}, // one long word, as taskset prints it
		{mask: strings.Repeat("0", 70000) + "1", want: "0"},

		{mask: "", wantErr: `CPU mask "": it is empty`},
		{mask: "\n\x00", wantErr: `CPU mask "\n\x00": it is empty`},
		{mask: "0x", wantErr: `CPU mask "0x": it is empty`},
		{mask: "g", wantErr: `CPU mask "g": "g" is not a hex digit`},
		{mask: "1,", wantErr: `CPU mask "1,": a word is missing`},
		{mask: ",1", wantErr: `CPU mask ",1": a word is missing`},
		{mask: "1,123456789", wantErr: `CPU mask "1,123456789": word "123456789" is longer than 32 bits`},
		{mask: "1_0", wantErr: `CPU mask "1_0": "_" is not a hex digit`},
		{mask: "é", wantErr: `CPU mask "é": "\xa9" is not a hex digit`},
	} {
		got, err := ParseMask(tt.mask)
		if tt.wantErr != "" {
			assert.EqualError(t, err, tt.wantErr)
			continue
		}
		require.NoError(t, err, tt.mask)
		assert.Equal(t, tt.want, got.String())
	}
	_, err := ParseMask("1" + strings.Repeat("0", 65536/4))
	assert.ErrorContains(t, err, "bit 65536 is above 65535")
}

func TestMask(t *testing.T) {
	for _, tt := range []struct {
		set  Set
		want string
	}{
		{Of(0), "00000001"},
		{Of(31, 32), "00000001,80000000"},
		{Of(0, 32, 33, 34, 35, 36, 37, 38, 39), "000000ff,00000001"},
		{Of(95), "80000000,00000000,00000000"},
	} {
		assert.Equal(t, tt.want, tt.set.Mask())
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "0-3,8", "0-14:2", "65535", "1-", "3-1", "0-65535:7", "0-1\n\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		set, err := Parse(list)
		if err != nil {
			return
		}
		again, err := Parse(set.String())
		require.NoError(t, err)
		require.True(t, set.Equal(again), "%q -> %q", list, set)
		assert.Equal(t, set.Len(), len(set.CPUs()))
		mask, err := ParseMask(set.Mask())
		require.NoError(t, err)
		require.True(t, set.Equal(mask), "%q -> %q", list, set.Mask())
	})
}

func FuzzParseMask(f *testing.F) {
	for _, seed := range []string{"0", "ff,00000001", "0xf", "1,0", "8000000000000001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, mask string) {
		set, err := ParseMask(mask)
		if err != nil {
			return
		}
		again, err := ParseMask(set.Mask())
		require.NoError(t, err)
		require.True(t, set.Equal(again), "%q -> %q", mask, set.Mask())
	})
}

func TestInWords(t *testing.T) {
	assert.Equal(t, "CPU 3", Of(3).InWords())
	assert.Equal(t, "CPUs 0-2,8", Of(0, 1, 2, 8).InWords())
}
