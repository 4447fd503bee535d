package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTextGoesByTheLocale as the screen does (locale(7)).
func TestTextGoesByTheLocale(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	bench := []string{"bench", "nqueens", "-n", "8", "--runs", "2", "--warmup", "0", "--place", "normal", "--place", "batch"}
	for _, args := range [][]string{bench, {"bench", "report"}, {"--headless", "-n", "1"}} {
		for locale, only := range map[string]bool{"LANG=C.UTF-8": false, "LC_ALL=C": true, "LC_ALL=POSIX": true} {
			in := &home{t, append(slices.Clone(h.env), locale)}
			r := in.run(args...)
			require.Zero(t, r.code, r.err)
			if beyond := strings.ContainsFunc(r.out, func(c rune) bool { return c > unicode.MaxASCII }); only {
				assert.False(t, beyond, "%v with %s: %s", args, locale, r.out)
			} else if args[0] == "bench" {
				assert.True(t, beyond, "%v: %s", args, r.out)
			}
		}
	}
}
