// Package cpuset holds sets of CPU numbers, and the one parser and printer of
// the two forms in which Linux writes them: cpulists ("0-3,8") and cpumasks
// (hex words, "ff,00000001").
//
// It is pure: it never asks the system which CPUs exist. Start at Set.
package cpuset

import (
	"iter"
	"math/bits"
)

// CPU is one logical processor, the number in "cpuN" of /proc/stat and
// /sys/devices/system/cpu.
type CPU int

// MaxCPU is the highest CPU number that a Set takes; a larger one in an input
// is a mistake and not a machine (Linux's own limit, NR_CPUS, is 8192).
const MaxCPU CPU = 65535

const wordBits = 64

// Set is a set of CPUs of any size. The zero value is empty. A Set is a value:
// no method changes its receiver, so it may be shared between goroutines.
type Set struct {
	words []uint64 // never ends in a zero word, so that equal sets have equal words
}

// Of returns the set of the given CPUs. Numbers outside 0..MaxCPU are ignored.
func Of(cpus ...CPU) Set {
	var b Builder
	for _, c := range cpus {
		b.Add(c)
	}
	return b.Set()
}

// FromWords returns the set whose bit i of words[j] stands for CPU 64*j+i, the
// layout of the kernel's cpumask on little-endian and 64-bit machines. The
// words are copied.
func FromWords(words []uint64) Set {
	n := len(words)
	for n > 0 && words[n-1] == 0 {
		n--
	}
	if n == 0 {
		return Set{}
	}
	return Set{words: append([]uint64(nil), words[:n]...)}
}

// Words returns a copy of the set's bits, 64 CPUs a word, lowest first.
func (s Set) Words() []uint64 { return append([]uint64(nil), s.words...) }

// Has reports whether cpu is in the set.
func (s Set) Has(cpu CPU) bool {
	w := int(cpu) / wordBits
	return cpu >= 0 && w < len(s.words) && s.words[w]>>(uint(cpu)%wordBits)&1 == 1
}

// Len returns the number of CPUs in the set.
func (s Set) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty reports whether the set has no CPU.
func (s Set) Empty() bool { return len(s.words) == 0 }

// Equal reports whether both sets have the same CPUs.
func (s Set) Equal(o Set) bool {
	if len(s.words) != len(o.words) {
		return false
	}
	for i, w := range s.words {
		if w != o.words[i] {
			return false
		}
	}
	return true
}

// First returns the lowest CPU, or -1 if the set is empty.
func (s Set) First() CPU {
	for i, w := range s.words {
		if w != 0 {
			return CPU(i*wordBits + bits.TrailingZeros64(w))
		}
	}
	return -1
}

// next returns the lowest CPU from cpu on, or -1 if there is none.
func (s Set) next(cpu CPU) CPU {
	for w := int(cpu) / wordBits; w < len(s.words); w++ {
		word := s.words[w]
		if w == int(cpu)/wordBits {
			word &= ^uint64(0) << (uint(cpu) % wordBits)
		}
		if word != 0 {
			return CPU(w*wordBits + bits.TrailingZeros64(word))
		}
	}
	return -1
}

// Last returns the highest CPU, or -1 if the set is empty.
func (s Set) Last() CPU {
	if n := len(s.words); n > 0 {
		return CPU(n*wordBits - 1 - bits.LeadingZeros64(s.words[n-1]))
	}
	return -1
}

// And returns the CPUs that are in both sets.
func (s Set) And(o Set) Set {
	n := min(len(s.words), len(o.words))
	out := make([]uint64, n)
	for i := range out {
		out[i] = s.words[i] & o.words[i]
	}
	return trimmed(out)
}

// Or returns the CPUs that are in either set.
func (s Set) Or(o Set) Set {
	if len(s.words) < len(o.words) {
		s, o = o, s
	}
	out := s.Words()
	for i, w := range o.words {
		out[i] |= w
	}
	return trimmed(out)
}

// AndNot returns the CPUs of s that are not in o.
func (s Set) AndNot(o Set) Set {
	out := s.Words()
	for i := range min(len(out), len(o.words)) {
		out[i] &^= o.words[i]
	}
	return trimmed(out)
}

// SubsetOf reports whether every CPU of s is in o.
func (s Set) SubsetOf(o Set) bool { return s.AndNot(o).Empty() }

// All yields the CPUs in rising order.
func (s Set) All() iter.Seq[CPU] {
	return func(yield func(CPU) bool) {
		for i, w := range s.words {
			for ; w != 0; w &= w - 1 {
				if !yield(CPU(i*wordBits + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// CPUs returns the CPUs in rising order.
func (s Set) CPUs() []CPU {
	out := make([]CPU, 0, s.Len())
	for c := range s.All() {
		out = append(out, c)
	}
	return out
}

// trimmed takes ownership of words.
func trimmed(words []uint64) Set {
	n := len(words)
	for n > 0 && words[n-1] == 0 {
		n--
	}
	if n == 0 {
		return Set{}
	}
	return Set{words: words[:n]}
}

// Builder collects CPUs one at a time. The zero value is ready.
type Builder struct{ words []uint64 }

// Add puts cpu into the set; numbers outside 0..MaxCPU are ignored.
func (b *Builder) Add(cpu CPU) {
	if cpu < 0 || cpu > MaxCPU {
		return
	}
	b.grow(cpu)
	b.words[cpu/wordBits] |= 1 << (uint(cpu) % wordBits)
}

// AddRange puts first to last into the set, without the numbers outside
// 0..MaxCPU, and costs a step for each 64 of them.
func (b *Builder) AddRange(first, last CPU) {
	first, last = max(first, 0), min(last, MaxCPU)
	if first > last {
		return
	}
	b.grow(last)
	for w := first / wordBits; w <= last/wordBits; w++ {
		word := ^uint64(0)
		if w == first/wordBits {
			word <<= uint(first) % wordBits
		}
		if w == last/wordBits {
			word &= ^uint64(0) >> (wordBits - 1 - uint(last)%wordBits)
		}
		b.words[w] |= word
	}
}

func (b *Builder) grow(cpu CPU) {
	if missing := int(cpu)/wordBits + 1 - len(b.words); missing > 0 {
		b.words = append(b.words, make([]uint64, missing)...)
	}
}

// Set returns what was added so far.
func (b *Builder) Set() Set { return FromWords(b.words) }
