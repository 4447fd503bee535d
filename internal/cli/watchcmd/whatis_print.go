package watchcmd

import (
	"fmt"
	"strings"

	"piton/internal/cli/app"
	"piton/internal/cli/output"
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

// explanation is what is known of one thing; empty texts and negative numbers
// stand for what is not known or does not apply.
type explanation struct {
	target, kind, name string
	tid, irq           int
	what, maker        string
	cpus               string
	movable            any // its CPUs can be set: true, false, or nil where that is not known
	unit, cgroup, exe  string
	exeNote            string // why there is no exe, for people
	policy             string
	advice             string
}

// print prints it as the nth of several.
func (x *explanation) print(a *app.App, o output.Format, nth int) {
	if o.JSON() {
		whatList.JSON(a, x)
		return
	}
	if nth > 0 {
		fmt.Fprintln(a)
	}
	fmt.Fprintln(a, field.Clean(x.title()))
	for _, row := range []struct{ name, text string }{
		{"what", x.what}, {"made by", x.maker}, {"program", x.exe + x.exeNote}, {"unit", x.unit}, {"cgroup", x.cgroup},
		{"policy", x.policy}, {"CPUs", x.cpuText()}, {"to do", x.advice},
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

// cpuText is the CPUs that it may run on, and whether that can be changed.
func (x *explanation) cpuText() string {
	words := []string{}
	if x.cpus != "" {
		words = append(words, x.cpus)
	}
	switch x.movable {
	case true:
		words = append(words, "can be moved")
	case false:
		words = append(words, "cannot be moved")
	}
	return strings.Join(words, "; ")
}

var whatList = output.NewList("what-is", "what", "what a task or an interrupt is",
	output.Col("target", "", output.Text, "the word that means it", func(x *explanation) any { return x.target }),
	output.Col("kind", "", output.Text, "kernel_thread, process, thread, irq, softirq", func(x *explanation) any { return x.kind }),
	output.Col("name", "", output.MaybeText, "its name", func(x *explanation) any { return field.NonEmpty(x.name) }),
	output.Col("tid", "", output.MaybeInt, "number of the task", func(x *explanation) any { return field.NonNegative(x.tid) }),
	output.Col("irq", "", output.MaybeInt, "number of the line", func(x *explanation) any { return field.NonNegative(x.irq) }),
	output.Col("what", "", output.MaybeText, "its purpose", func(x *explanation) any { return field.NonEmpty(x.what) }),
	output.Col("made_by", "", output.MaybeText, "its origin", func(x *explanation) any { return field.NonEmpty(x.maker) }),
	output.Col("cpus", "", output.MaybeText, "a cpulist", func(x *explanation) any { return field.NonEmpty(x.cpus) }),
	output.Col("movable", "", output.MaybeBool, "its CPUs can be set", func(x *explanation) any { return x.movable }),
	output.Col("unit", "", output.MaybeText, "systemd unit", func(x *explanation) any { return field.NonEmpty(x.unit) }),
	output.Col("cgroup", "", output.MaybeText, "control group", func(x *explanation) any { return field.NonEmpty(x.cgroup) }),
	output.Col("exe", "", output.MaybeText, "program", func(x *explanation) any { return field.NonEmpty(x.exe) }),
	output.Col("policy", "", output.MaybeText, "scheduling policy", func(x *explanation) any { return field.NonEmpty(x.policy) }),
	output.Col("advice", "", output.MaybeText, "what helps", func(x *explanation) any { return field.NonEmpty(x.advice) }))
