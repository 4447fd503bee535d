package irq

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"piton/internal/cpuset"
)

// Line is one line of /proc/interrupts or /proc/softirqs.
type Line struct {
	Name   string   // "24", "LOC", "NET_RX"
	Number int      // -1 when the name is no number
	Counts []uint64 // nil of a line that counts nothing, or is not understood
	Text   string   // chip, line number and handlers, or what the name stands for
}

var errNoCPUs = errors.New("its first line names no CPU")

// Interrupts is /proc/interrupts or /proc/softirqs.
type Interrupts struct {
	CPUs  []cpuset.CPU // online ones only in the former
	Lines []Line       // those not counted by CPU (ERR, MIS) have a single count
	Odd   error        // the first line that is not understood
}

// ParseInterrupts parses /proc/interrupts or /proc/softirqs. It is an error if the first line
// does not name the CPUs.
func ParseInterrupts(b []byte) (out Interrupts, err error) {
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	if out.CPUs, err = parseHead(head); err != nil {
		return out, err
	}
	seen := map[int]bool{}
	for text := range bytes.Lines(rest) {
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		line, err := parseLine(text, len(out.CPUs))
		if err == nil && seen[line.Number] {
			line.Name, err = "", fmt.Errorf("interrupts: two lines of IRQ %d", line.Number)
		}
		if out.Odd == nil {
			out.Odd = err
		}
		if line.Name == "" {
			continue
		}
		if line.Number >= 0 { // PowerPC has several lines called LOC
			seen[line.Number] = true
		}
		out.Lines = append(out.Lines, line)
	}
	return out, nil
}

// parseHead reads "CPU0 CPU1 CPU3".
func parseHead(head []byte) ([]cpuset.CPU, error) {
	var cpus []cpuset.CPU
	for word := range bytes.FieldsSeq(head) {
		digits, ok := bytes.CutPrefix(word, []byte("CPU"))
		n, err := strconv.ParseUint(string(digits), 10, 32)
		if !ok || err != nil || n > uint64(cpuset.MaxCPU) {
			return nil, fmt.Errorf("interrupts: %q is no CPU", word)
		}
		cpus = append(cpus, cpuset.CPU(n))
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("interrupts: %w", errNoCPUs)
	}
	return cpus, nil
}

// parseLine reads "NAME: COUNT… TEXT", of which the counts are at most cpus. With an error
// it has the name, if there is one. 32-bit Arm names the holder of its fast interrupt in a
// line without counts, "FIQ: usb_fiq" (arch/arm/kernel/fiq.c).
func parseLine(text []byte, cpus int) (Line, error) {
	name, rest, ok := bytes.Cut(text, []byte(":"))
	if !ok || len(name) == 0 {
		return Line{}, fmt.Errorf("interrupts: line %q has no name", clip(text))
	}
	line := Line{Name: string(name), Number: -1}
	if n, err := strconv.ParseUint(line.Name, 10, 31); err == nil {
		line.Number = int(n)
	}
	line.Counts = make([]uint64, 0, cpus)
	for len(line.Counts) < cpus {
		n, after, ok := count(rest)
		if !ok {
			break
		}
		line.Counts = append(line.Counts, n)
		rest = after
	}
	// A numbered line is always counted by CPU; one cut short is no line.
	got := len(line.Counts)
	if got == 0 {
		line.Counts = nil
	}
	rest = bytes.TrimSpace(rest)
	single := got == 1 && (len(rest) == 0 || rest[0] != '-' && (rest[0] < '0' || rest[0] > '9'))
	if got < cpus && !(line.Number < 0 && (single || line.Name == "FIQ")) {
		line.Counts = nil
		return line, fmt.Errorf("interrupts: line %q has %d counts for %d CPUs", clip(text), got, cpus)
	}
	line.Text = string(rest)
	return line, nil
}

// count reads the number that text begins with, up to a blank or the end. There
// may be half a million of them in the file.
func count(text []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	first := i
	for ; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
		if n > math.MaxUint64/10-1 {
			return 0, nil, false
		}
		n = n*10 + uint64(text[i]-'0')
	}
	if i == first || i < len(text) && text[i] != ' ' && text[i] != '\t' {
		return 0, nil, false
	}
	return n, text[i:], true
}

// clip shortens text for an error.
func clip(text []byte) []byte {
	const most = 80
	return text[:min(len(text), most)]
}
