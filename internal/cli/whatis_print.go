package cli

import (
	"fmt"
	"strings"

	"piton/internal/field"
)

// The kinds of things that what-is explains.
const (
	kindKernelThread = "kernel_thread"
	kindProcess      = "process"
	kindThread       = "thread"
	kindIRQ          = "irq"
	kindSoftIRQ      = "softirq"
)

// answer is yes, no, or that it is not known.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

func yesNo(is bool) answer {
	if is {
		return yes
	}
	return no
}

// explanation is what is known of one thing; empty texts and negative numbers
// stand for what is not known or does not apply.
type explanation struct {
	target, kind, name string
	tid, irq           int
	what, maker        string
	cpus               string
	movable            answer
	unit, cgroup, exe  string
	exeNote            string // why there is no exe, for people
	policy             string
	advice             string
}

// print prints it as the nth of several.
func (x *explanation) print(a *app, o output, nth int) {
	if o.json() {
		x.json(a)
		return
	}
	if nth > 0 {
		fmt.Fprintln(a)
	}
	fmt.Fprintln(a, field.Clean(x.title()))
	for _, row := range []struct{ name, text string }{
		{"what", x.what}, {"made by", x.maker}, {"program", x.exe + x.exeNote}, {"unit", x.unit}, {"cgroup", x.cgroup},
		{"policy", x.policy}, {"CPUs", x.placement()}, {"to do", x.advice},
	} {
		if row.text != "" {
			fmt.Fprintf(a, "  %-8s %s\n", row.name, field.Clean(row.text))
		}
	}
}

// title is the name and the numbers.
func (x *explanation) title() string {
	kind := strings.ReplaceAll(x.kind, "_", " ")
	if x.kind == kindIRQ {
		kind = "interrupt"
	}
	title := x.name
	if title == "" {
		title = x.target
	}
	title += "  " + kind
	switch {
	case x.tid >= 0:
		title += fmt.Sprintf(" %d", x.tid)
	case x.kind == kindKernelThread:
		title += ", by its name"
	case x.irq >= 0:
		title += fmt.Sprintf(" %d", x.irq)
	}
	return title
}

// placement is where it may run, and whether that can be changed.
func (x *explanation) placement() string {
	words := []string{}
	if x.cpus != "" {
		words = append(words, x.cpus)
	}
	switch x.movable {
	case yes:
		words = append(words, "can be moved")
	case no:
		words = append(words, "cannot be moved")
	}
	return strings.Join(words, "; ")
}

func (x *explanation) json(a *app) {
	var l line
	l.start("what").add("v", Version).add("target", x.target).add("kind", x.kind).add("name", textOrNull(x.name)).
		add("tid", numberOrNull(x.tid)).add("irq", numberOrNull(x.irq)).add("what", textOrNull(x.what)).
		add("made_by", textOrNull(x.maker)).add("cpus", textOrNull(x.cpus)).
		add("movable", orNull(x.movable == yes, x.movable != unknown)).add("unit", textOrNull(x.unit)).
		add("cgroup", textOrNull(x.cgroup)).add("exe", textOrNull(x.exe)).add("policy", textOrNull(x.policy)).add("advice", textOrNull(x.advice)).write(a.Out)
}
