package field

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/displaywidth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var hostile = []string{
	"", "nqueens", "a b) (c", "\x1b[2J\x1b]0;title\a", "line\nline\r\ttab", "\xff\xfe", "\u009b31m", "世界", "e\u0301",
	"\u200bzero\u202eturned", "👩‍👩‍👧", "🇩🇪", "👍🏽", "한글", "ᄒ\u1161\u11ab", "क्षि", "\ufe0f", "\u00ad", "\U000e0041", "\u2028", "\x7f",
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"nqueens":                    "nqueens",
		"a\nb\tc":                    "a b c",
		"\x1b[31m":                   "?[31m",
		"\u009b31m":                  "?31m",
		"\xffx":                      "?x",
		"世界":                         "世界",
		"é":                          "é",
		"e\u0301":                    "e\u0301",
		"กิ":                         "กิ",
		"\u0301e":                    "?e",
		"e\ufe0f":                    "e?",
		"e\u0301\u0301\u0301\u0301x": "e\u0301\u0301\u0301?x",
		"a\u200bb":                   "a?b",
		"\u202e":                     "?",
		"🇩🇪":                         "??",
		"\ufffd":                     "\ufffd",
		"Stra\u00dfe 10€":            "Straße 10€",
	} {
		assert.Equal(t, want, Clean(in), "%q", in)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		for _, ascii := range []bool{false, true} {
			clean := AppendClean(nil, s, ascii)
			require.True(t, utf8.Valid(clean))
			sum := 0
			for _, r := range string(clean) {
				require.False(t, r < ' ' || r >= 0x7f && r < 0xa0, "%q holds a control character", clean)
				require.False(t, ascii && r >= 0x7f)
				sum += displaywidth.Rune(r)
			}
			require.Equal(t, sum, Width(clean), "%q", clean)
			require.Equal(t, sum, ansi.StringWidth(string(clean)), "%q by the screen's measure", clean)
			width = max(0, width%300)
			require.Equal(t, width, Width(Pad(clean, 0, width, width%2 == 0, ascii)), "%q padded", clean)
		}
	})
}

func TestPad(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		right bool
		ascii bool
		want  string
	}{
		{"12", 5, true, false, "   12"},
		{"12", 5, false, false, "12   "},
		{"123456", 5, true, false, "1234…"},
		{"123456", 5, true, true, "1234~"},
		{"世界世", 5, false, false, "世界…"},
		{"世界世", 4, false, false, "世… "},
		{"–", 3, true, false, "  –"},
		{"abc", 0, false, false, ""},
		{"abc", 1, false, false, "…"},
		{"", 2, true, false, "  "},
	} {
		assert.Equal(t, "x"+tt.want, string(Pad([]byte("x"+tt.in), 1, tt.width, tt.right, tt.ascii)), "%+v", tt)
	}
}

func FuzzAppendJSON(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := AppendJSON(nil, s)
		for _, r := range string(out) {
			require.False(t, r < ' ' || r >= 0x7f && r < 0xa0, "%q holds a control character", out)
		}
		var back string
		require.NoError(t, json.Unmarshal(out, &back), "%q", out)
		require.Equal(t, string([]rune(s)), back)
	})
}

func TestAppendJSON(t *testing.T) {
	for want, in := range map[string]any{
		"null": nan, "1.5": 1.5, "-3": int64(-3), "7": uint64(7), "true": true, `"a\"\\b\n\u001b"`: "a\"\\b\n\x1b", "0.00001": 0.00001,
	} {
		assert.Equal(t, want, string(AppendJSON(nil, in)))
	}
	assert.Equal(t, "null", string(AppendJSON(nil, nil)))
}
