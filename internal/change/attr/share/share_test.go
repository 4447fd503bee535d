package share

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryShareIsAWeight(t *testing.T) {
	for n := uint64(2); n <= 262144; n++ {
		w, err := WeightOf(false, []string{fmt.Sprintln(n), "0\n"})
		require.NoError(t, err)
		again, err := ParseWeight(w.String())
		require.NoError(t, err)
		require.Equal(t, []Write{{"cpu.shares", fmt.Sprint(n)}}, again.Writes(false, Weight{}))
	}
}

func TestWeightOnAVersion(t *testing.T) {
	for text, want := range map[string][2]string{
		"100": {"100", "100"}, "1": {"1", "0.98"}, "33": {"33", "33.01"}, "10000": {"10000", "10000"}, "idle": {"idle", "idle"},
		"0.2": {"", "0.2"}, "33.5": {"", "33.5"}, "10001": {"", "10000.98"},
	} {
		w, err := ParseWeight(text)
		require.NoError(t, err)
		for i, unified := range []bool{true, false} {
			on, err := w.On(unified, Weight{})
			if want[i] == "" {
				require.ErrorContains(t, err, "whole numbers from 1 to 10000")
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, want[i], on.String(), text)
		}
	}
}

// Any quota in any period that the kernel takes comes back from its notation to the microsecond.
func TestQuotaNotationIsExact(t *testing.T) {
	for _, period := range []time.Duration{time.Millisecond, 12345 * time.Microsecond, 100 * time.Millisecond, time.Second} {
		for us := int64(1000); us < 300_000_000; us += us/7 + 1 {
			q := Quota{Quota: time.Duration(us) * time.Microsecond, Period: period, Burst: time.Duration(us%3) * time.Microsecond}
			again, err := ParseQuota(q.String())
			require.NoError(t, err)
			require.Equal(t, q, again)
		}
	}
}

func TestQuotaKeepsWhatIsNotAskedFor(t *testing.T) {
	for _, c := range []struct{ has, wish, want string }{
		{"none period 100ms", "20%", "20% period 100ms"},
		{"none period 50ms burst 4ms", "20", "20% period 50ms burst 4ms"},
		{"20% period 50ms burst 4ms", "none", "none period 50ms burst 4ms"},
		{"20% period 50ms burst 4ms", "none burst 0", "none period 50ms"},
		{"20% period 50ms", "40% period 100ms burst 5ms", "40% period 50ms burst 5ms"},
		{"none period 100ms burst 9ms", "5%", "the group's burst of 9ms is more than 5ms in 100ms: say --burst too"},
		{"none period 100ms", "5% burst 6ms", "a burst of 6ms is more than the quota, 5ms in 100ms: the kernel takes none above it"},
		{"none period 100ms", "0.5%", "0.5% of the group's period of 100ms is less than the 1ms that the kernel takes"},
	} {
		has, err := ParseQuota(c.has)
		require.NoError(t, err)
		wish, err := ParseQuota(c.wish)
		require.NoError(t, err)
		got, err := wish.On(true, has)
		text := got.String()
		if err != nil {
			text = err.Error()
		}
		assert.Equal(t, c.want, text, c.wish)
	}
}
