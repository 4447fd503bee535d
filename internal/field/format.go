package field

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

func round3(v float64) float64 { return math.Round(v*1000) / 1000 }

// appendFixed writes a figure in at most five cells for anything below
// 10,000,000: one decimal below 1000, none below 100,000, then thousands.
func appendFixed(dst []byte, v float64) []byte {
	switch {
	case v >= 0 && v < 999.95: // by far the most frequent, so without AppendFloat
		tenths := int64(v*10 + 0.5)
		return append(strconv.AppendInt(dst, tenths/10, 10), '.', byte('0'+tenths%10))
	case v < 99999.5:
		return strconv.AppendFloat(dst, v, 'f', 0, 64)
	}
	return append(strconv.AppendFloat(dst, v/1000, 'f', 0, 64), 'k')
}

// shownFixed is the number that appendFixed writes.
func shownFixed(v float64) float64 {
	switch {
	case v >= 0 && v < 999.95:
		return math.Floor(v*10+0.5) / 10
	case v < 99999.5:
		return math.RoundToEven(v)
	}
	return math.RoundToEven(v/1000) * 1000
}

// appendBytes writes a size in at most four cells, as ls -h: 0, 912K, 1.2M, 14G.
func appendBytes(dst []byte, n uint64) []byte {
	if n < 1024 {
		return strconv.AppendUint(dst, n, 10)
	}
	const units = "KMGTPE"
	v := float64(n) / 1024
	i := 0
	for v >= 999.5 && i < len(units)-1 {
		v /= 1024
		i++
	}
	decimals := 0
	if i > 0 && v < 9.95 {
		decimals = 1
	}
	return append(strconv.AppendFloat(dst, v, 'f', decimals, 64), units[i])
}

// appendCPUTime writes CPU seconds as top's TIME+: minutes:seconds.hundredths,
// and from 1000 hours on hours only, in at most nine cells.
func appendCPUTime(dst []byte, s float64) []byte {
	hundredths := uint64(math.Round(s * 100))
	minutes := hundredths / 6000
	if minutes >= 100_000 {
		return append(strconv.AppendUint(dst, minutes/60, 10), 'h')
	}
	dst = strconv.AppendUint(dst, minutes, 10)
	dst = append(dst, ':')
	dst = appendTwo(dst, hundredths/100%60)
	if minutes >= 1000 {
		return dst
	}
	dst = append(dst, '.')
	return appendTwo(dst, hundredths%100)
}

// appendTwo writes v below 100 in two digits.
func appendTwo(dst []byte, v uint64) []byte {
	return append(dst, byte('0'+v/10), byte('0'+v%10))
}

// Uptime is in minutes at the finest, so that it seldom changes.
func Uptime(d time.Duration) string {
	days, d := d/(24*time.Hour), d%(24*time.Hour)
	clock := fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute)
	if days > 0 {
		return fmt.Sprintf("%dd %s", days, clock)
	}
	return clock
}

// Bytes is a size as columns show it: "912K".
func Bytes(n uint64) string { return string(appendBytes(nil, n)) }

// Fixed is a figure as columns of rates show it.
func Fixed(v float64) string { return string(appendFixed(nil, v)) }
