package cpuset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Blank is what may be around a set in a file: white space, and the NUL that Linux
// since 5.15 may put behind cpumap and cpulist files of /sys (bitmap_print_to_buf in
// lib/bitmap.c copies strlen + 1 bytes).
const Blank = " \t\n\v\f\r\x00"

// Parse reads a cpulist as the kernel and taskset write it: numbers and ranges
// joined with commas, a range optionally with a stride ("0-14:2" is every
// second CPU). Blanks around it, and an empty list, are accepted. Ranges that run
// backwards and numbers above MaxCPU are errors.
func Parse(list string) (Set, error) {
	var b Builder
	list = strings.Trim(list, Blank)
	if list == "" {
		return Set{}, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		first, last, step, err := parseRange(strings.TrimSpace(part))
		if err != nil {
			return Set{}, fmt.Errorf("CPU list %q: %w", list, err)
		}
		if step == 1 {
			b.AddRange(first, last)
			continue
		}
		for c := first; c <= last; c += step {
			b.Add(c)
		}
	}
	return b.Set(), nil
}

func parseRange(part string) (first, last, step CPU, err error) {
	span, stride, hasStride := strings.Cut(part, ":")
	lo, hi, isRange := strings.Cut(span, "-")
	if first, err = parseCPU(lo); err != nil {
		return 0, 0, 0, err
	}
	last, step = first, 1
	if isRange {
		if last, err = parseCPU(hi); err != nil {
			return 0, 0, 0, err
		}
	}
	if hasStride {
		if !isRange {
			return 0, 0, 0, fmt.Errorf("stride without a range in %q", part)
		}
		if step, err = parseCPU(stride); err != nil {
			return 0, 0, 0, err
		}
		if step == 0 {
			return 0, 0, 0, fmt.Errorf("stride 0 in %q", part)
		}
	}
	if last < first {
		return 0, 0, 0, fmt.Errorf("range %q runs backwards", part)
	}
	return first, last, step, nil
}

func parseCPU(s string) (CPU, error) {
	if s == "" {
		return 0, fmt.Errorf("a CPU number is missing")
	}
	for _, r := range s {
		if r < '0' || r > '9' {
			return 0, fmt.Errorf("%q is not a CPU number", s)
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || CPU(n) > MaxCPU {
		return 0, fmt.Errorf("CPU number %s is above %d", s, MaxCPU)
	}
	return CPU(n), nil
}

// ParseMask reads a cpumask: hex words of 32 bits joined with commas, highest
// first, as in smp_affinity and Cpus_allowed; a leading 0x is accepted, and so
// is one word of any length, as taskset prints it.
func ParseMask(mask string) (Set, error) {
	digits, err := maskDigits(mask)
	if err != nil {
		return Set{}, fmt.Errorf("CPU mask %q: %w", mask, err)
	}
	var b Builder
	for i := range len(digits) {
		digit := digits[len(digits)-1-i]
		value, ok := hexValue(digit)
		if !ok {
			return Set{}, fmt.Errorf("CPU mask %q: %q is not a hex digit", mask, digits[len(digits)-1-i:len(digits)-i])
		}
		for bit := range 4 {
			if value>>bit&1 == 0 {
				continue
			}
			cpu := CPU(i*4 + bit)
			if cpu > MaxCPU {
				return Set{}, fmt.Errorf("CPU mask %q: bit %d is above %d", mask, cpu, MaxCPU)
			}
			b.Add(cpu)
		}
	}
	return b.Set(), nil
}

// maskDigits returns the digits of a mask without prefix and commas, each word
// but the first filled up to 8 digits.
func maskDigits(mask string) ([]byte, error) {
	text := strings.Trim(mask, Blank)
	if len(text) > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		text = text[2:]
	}
	if text == "" {
		return nil, errors.New("it is empty")
	}
	out := make([]byte, 0, len(text))
	single := !strings.Contains(text, ",")
	for word := range strings.SplitSeq(text, ",") {
		switch {
		case word == "":
			return nil, errors.New("a word is missing")
		case len(word) > 8 && !single:
			return nil, fmt.Errorf("word %q is longer than 32 bits", word)
		}
		for range 8 - len(word) {
			out = append(out, '0')
		}
		out = append(out, word...)
	}
	return out, nil
}

func hexValue(digit byte) (byte, bool) {
	switch {
	case digit >= '0' && digit <= '9':
		return digit - '0', true
	case digit >= 'a' && digit <= 'f':
		return digit - 'a' + 10, true
	case digit >= 'A' && digit <= 'F':
		return digit - 'A' + 10, true
	}
	return 0, false
}

// String prints the set as a cpulist, "0-3,8"; the empty set prints as "".
func (s Set) String() string { return string(s.Append(nil)) }

// InWords names the CPUs in a sentence: "CPU 3", "CPUs 0-3".
func (s Set) InWords() string {
	if s.Len() == 1 {
		return "CPU " + s.String()
	}
	return "CPUs " + s.String()
}

// Append adds the set to dst as String prints it.
func (s Set) Append(dst []byte) []byte {
	start := len(dst)
	for first := s.First(); first >= 0; {
		last := first
		for s.Has(last + 1) {
			last++
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(first), 10)
		if last > first {
			dst = append(dst, '-')
			dst = strconv.AppendInt(dst, int64(last), 10)
		}
		first = s.next(last + 1)
	}
	return dst
}

// Mask prints the set as the kernel prints a cpumask: 32-bit hex words, highest
// first, joined with commas, at least one word.
func (s Set) Mask() string {
	words := make([]string, 0, 2*len(s.words)+1)
	for _, word := range slices.Backward(s.words) {
		words = append(words, fmt.Sprintf("%08x", uint32(word>>32)), fmt.Sprintf("%08x", uint32(word)))
	}
	for len(words) > 1 && words[0] == "00000000" {
		words = words[1:]
	}
	if len(words) == 0 {
		return "00000000"
	}
	return strings.Join(words, ",")
}

// MarshalText writes the cpulist, so that a Set in JSON is "0-3,8".
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a cpulist.
func (s *Set) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
