package share

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Quota is how long the tasks of a group may run together in each period, and what they may take
// of it later if they left it: "20% period 100ms burst 5ms" (Documentation/scheduler/sched-bwc.rst).
// It limits what the groups below get, too.
type Quota struct {
	None   bool          // no limit
	Quota  time.Duration // in a period; of a wish, in a second
	Period time.Duration // 0: a wish, which keeps the period that there is
	Burst  time.Duration
	Keep   bool // a wish: keep the burst that there is
}

// The words of a quota.
const (
	None   = "none"
	period = "period"
	burst  = "burst"
)

// Least is the least quota that the kernel takes (kernel/sched/core.c, min_cfs_quota_period).
const Least = time.Millisecond

// mostPercent is beyond all the CPUs that there can be.
const mostPercent = 1e9

func (q Quota) String() string {
	text := q.Percent()
	if q.Period > 0 {
		text += " " + period + " " + q.Period.String()
	}
	if q.Burst > 0 || q.Period == 0 && !q.Keep {
		text += " " + burst + " " + q.Burst.String()
	}
	return text
}

// Percent is the quota in per cent of a CPU, or "none". Five decimals tell any microsecond of any
// period, which is a second at most.
func (q Quota) Percent() string {
	if q.None {
		return None
	}
	of := q.Period
	if of == 0 {
		of = time.Second
	}
	percent := math.Round(float64(q.Quota)/float64(of)*1e7) / 1e5
	return strconv.FormatFloat(percent, 'f', -1, 64) + "%"
}

// ParseQuota reads "150%", "20 burst 5ms", "none": what is not named is kept; and what String writes.
func ParseQuota(text string) (Quota, error) {
	words := strings.Fields(text)
	wrong := fmt.Errorf("quota %q is neither per cent of a CPU, such as 150%%, nor none", text)
	if len(words)%2 != 1 {
		return Quota{}, wrong
	}
	q := Quota{None: words[0] == None, Keep: true}
	for i := 1; i < len(words); i += 2 {
		d, err := time.ParseDuration(words[i+1])
		switch name := words[i]; {
		case name != period && name != burst:
			return Quota{}, wrong
		case err != nil || d < 0 || d%time.Microsecond != 0 || d > time.Hour:
			return Quota{}, fmt.Errorf("%s %q is not a time such as 5ms, in whole microseconds", name, words[i+1])
		case name == burst:
			q.Burst, q.Keep = d, false
		case d < Least || d > time.Second:
			return Quota{}, fmt.Errorf("period %s is not from 1ms to 1s", d)
		default:
			q.Period = d
		}
	}
	q.Keep = q.Keep && q.Period == 0
	if q.None {
		return q, nil
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(words[0], "%"), 64)
	switch {
	case err != nil || !(percent > 0 && percent <= mostPercent):
		return Quota{}, wrong
	case q.Period == 0:
		q.Quota = time.Duration(math.Round(percent * 1e7)) // ns of a second
	default:
		q.Quota = share(percent/100, q.Period)
	}
	return q, nil
}

// share is a part of a period, in whole microseconds, as the kernel takes it.
func share(part float64, of time.Duration) time.Duration {
	return (time.Duration(part*float64(of)) + time.Microsecond/2).Truncate(time.Microsecond)
}

// On is the quota for a group that has another: its period stays, and what is not asked for. The
// error says what the kernel would refuse.
func (q Quota) On(_ bool, has Quota) (Quota, error) {
	of := q.Period
	if of == 0 {
		of = time.Second
	}
	out := Quota{None: q.None, Quota: share(float64(q.Quota)/float64(of), has.Period), Period: has.Period, Burst: q.Burst}
	if q.Keep {
		out.Burst = has.Burst
	}
	switch {
	case out.None:
	case out.Quota < Least:
		return q, fmt.Errorf("%s of the group's period of %s is less than the %s that the kernel takes", q.Percent(), has.Period, Least)
	case out.Burst > out.Quota && q.Keep:
		return q, fmt.Errorf("the group's burst of %s is more than %s in %s: say --burst too", out.Burst, out.Quota, has.Period)
	case out.Burst > out.Quota:
		return q, fmt.Errorf("a burst of %s is more than the quota, %s in %s: the kernel takes none above it", out.Burst, out.Quota, has.Period)
	}
	return out, nil
}

// QuotaFiles are the files of a group that hold its quota. A group that can have one has the
// first; the last is not on every kernel: bursts came with Linux 5.14.
func QuotaFiles(unified bool) []string {
	if unified {
		return []string{"cpu.max", "cpu.max.burst"} // "20000 100000", "max 100000"; "5000"
	}
	return []string{"cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us"}
}

// QuotaOf reads the texts of QuotaFiles; the last may be "".
func QuotaOf(unified bool, texts []string) (Quota, error) {
	fields := strings.Fields(strings.Join(append(texts, "0"), " ")) // 0 stands in for the last
	if len(fields) < 3 {
		return Quota{}, fmt.Errorf("%q is not a quota and a period", texts)
	}
	q := Quota{None: fields[0] == noLimit(unified)}
	if q.None {
		fields[0] = "0"
	}
	for i, to := range []*time.Duration{&q.Quota, &q.Period, &q.Burst} {
		us, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return Quota{}, err
		}
		*to = time.Duration(us) * time.Microsecond
	}
	return q, nil
}

// noLimit is what the first of QuotaFiles has for none.
func noLimit(unified bool) string {
	if unified {
		return "max"
	}
	return "-1"
}

// Late reports whether the value takes the last of QuotaFiles.
func (q Quota) Late() bool { return q.Burst > 0 }

// Writes brings a group from a quota to q, which has the same period. The kernel takes no burst
// above the quota, so what grows the room comes first: one of the two orders always does.
func (q Quota) Writes(unified bool, from Quota) (out []Write) {
	files := QuotaFiles(unified)
	if q.limit() != from.limit() {
		text := noLimit(unified)
		if !q.None {
			text = micros(q.Quota)
		}
		if unified {
			text += " " + micros(q.Period)
		}
		out = append(out, Write{files[0], text})
	}
	if q.Burst != from.Burst {
		out = append(out, Write{files[len(files)-1], micros(q.Burst)})
	}
	if len(out) == 2 && !q.None && from.Burst > q.Quota {
		slices.Reverse(out)
	}
	return out
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

// limit is the quota without the burst.
func (q Quota) limit() Quota { return Quota{None: q.None, Quota: q.Quota, Period: q.Period} }

// Halfway reports whether now is what a change of the quota that was cut off may have left.
func (q Quota) Halfway(to, now Quota) bool {
	return (now.limit() == q.limit() || now.limit() == to.limit()) && (now.Burst == q.Burst || now.Burst == to.Burst)
}
