package tunecmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/cli/exit"
)

func TestParseSince(t *testing.T) {
	zone := time.FixedZone("there", 2*3600)
	now := time.Date(2026, 11, 20, 14, 30, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"10m":                       now.Add(-10 * time.Minute),
		"2h30m":                     now.Add(-150 * time.Minute),
		"0s":                        now,
		"3d":                        now.AddDate(0, 0, -3),
		"14:05":                     time.Date(2026, 11, 20, 14, 5, 0, 0, zone),
		"2026-11-19":                time.Date(2026, 11, 19, 0, 0, 0, 0, zone),
		"2026-11-19 23:59":          time.Date(2026, 11, 19, 23, 59, 0, 0, zone),
		"2026-11-19 23:59:30":       time.Date(2026, 11, 19, 23, 59, 30, 0, zone),
		"2026-11-20T14:05":          time.Date(2026, 11, 20, 14, 5, 0, 0, zone),
		"2026-11-20T12:05:00Z":      time.Date(2026, 11, 20, 14, 5, 0, 0, zone),
		"2026-11-20T12:05:00+00:00": time.Date(2026, 11, 20, 14, 5, 0, 0, zone),
	} {
		got, err := parseSince(text, now)
		assert.NoError(t, err, text)
		assert.True(t, got.Equal(want), "%s is %v, not %v", text, got, want)
	}
	for _, text := range []string{"", "x", "-10m", "-3d", "14:31", "99:99", "2026-13-01", "2027-01-01", "d", "99999d"} {
		_, err := parseSince(text, now)
		assert.Equal(t, exit.Usage, exit.Code(err), text)
	}
}

func FuzzParseSince(f *testing.F) {
	f.Add("3d")
	f.Add("2026-11-20T12:05:00Z")
	now := time.Date(2026, 11, 20, 14, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if at, err := parseSince(text, now); err == nil && at.After(now) {
			t.Fatalf("%q is %v", text, at)
		}
	})
}
