package irq

import (
	"fmt"
	"strconv"
	"strings"

	"piton/internal/procfs"
)

// line is the path of a file of one interrupt line in /proc/irq.
func (f FS) line(irq int, file string) string {
	return f.proc.Path("irq", strconv.Itoa(irq), file)
}

// attribute is the path of a file of one interrupt line in /sys/kernel/irq.
func (f FS) attribute(irq int, file string) string {
	return f.sys("kernel", "irq", strconv.Itoa(irq), file)
}

// Requested reads where a line is asked to go.
func (f FS) Requested(irq int) Mask { return readList(f.line(irq, "smp_affinity_list")) }

// Effective reads where a line goes; it changes with the first interrupt after
// a change of what is requested.
func (f FS) Effective(irq int) Mask { return readList(f.line(irq, "effective_affinity_list")) }

// Default reads default_smp_affinity, what new lines get.
func (f FS) Default() Mask { return ReadMask(f.proc.Path("irq", "default_smp_affinity")) }

// Name is what a line's handlers are called, joined with commas; "" when there
// are none, or the kernel does not say (CONFIG_SPARSE_IRQ, Linux 4.9).
func (f FS) Name(irq int) string {
	text, _ := procfs.Text(f.attribute(irq, "actions"))
	return text
}

// spurious reads /proc/irq/N/spurious.
func (f FS) spurious(irq int) Spurious {
	text, ok := procfs.Text(f.line(irq, "spurious"))
	if !ok {
		return Spurious{}
	}
	s, err := ParseSpurious(text)
	s.OK = err == nil
	return s
}

// ParseSpurious parses /proc/irq/N/spurious:
//
//	count 14
//	unhandled 6
//	last_unhandled 4294668528 ms
func ParseSpurious(text string) (Spurious, error) {
	var s Spurious
	found := 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		var into *uint64
		switch words[0] {
		case "count":
			into = &s.Count
		case "unhandled":
			into = &s.Unhandled
		default:
			continue
		}
		n, err := strconv.ParseUint(words[1], 10, 64)
		if err != nil {
			return Spurious{}, fmt.Errorf("spurious: %w", err)
		}
		*into = n
		found++
	}
	if found != 2 {
		return Spurious{}, fmt.Errorf("spurious: %q is not what it should be", clip([]byte(text)))
	}
	return s, nil
}

// facts reads what stays the same about a line, but for its device and threads.
func (f FS) facts(l Line) Facts {
	out := parseText(l.Text)
	out.Text = l.Text
	n := l.Number
	for _, a := range []struct {
		file string
		into *string
	}{{"chip_name", &out.Chip}, {"hwirq", &out.HWIRQ}, {"type", &out.Type}} {
		if text, ok := procfs.Text(f.attribute(n, a.file)); ok && text != "" {
			*a.into = text
		}
	}
	if text, ok := procfs.Text(f.attribute(n, "actions")); ok {
		out.Actions = splitActions(text)
	}
	out.Hint = ReadMask(f.line(n, "affinity_hint"))
	out.Node = readNumber(f.line(n, "node"), -1)
	out.Queue = queueOf(out.Actions)
	out.Control = f.control(n, out.Chip, out.Actions)
	return out
}

// splitActions takes the names of a shared line's handlers apart.
func splitActions(text string) []string {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// parseText reads the end of a numbered line: chip, line and trigger, handlers.
// It serves kernels without /sys/kernel/irq, and takes x86's "IO-APIC 5-edge
// ttyS0" and Arm's "GICv3 27 Level arch_timer".
func parseText(text string) Facts {
	var f Facts
	words := strings.Fields(text)
	if len(words) > 0 {
		f.Chip = words[0]
		words = words[1:]
	}
	if len(words) > 0 {
		line, trigger, joined := strings.Cut(words[0], "-")
		f.HWIRQ, f.Type = line, trigger
		words = words[1:]
		if !joined && len(words) > 0 && (words[0] == "Level" || words[0] == "Edge") {
			f.Type = strings.ToLower(words[0])
			words = words[1:]
		}
	}
	f.Actions = splitActions(strings.Join(words, " "))
	return f
}
