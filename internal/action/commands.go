package action

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/shell"
)

// Commands are command lines that make changes again, one for each value that was set:
// "piton pin 21951 --cpu 1". Changes of the kernel's files other than the affinity of
// interrupts, sysctls and control groups have none. Of the targets those of single threads count, which
// have commands of their own, as have threads that were set differently.
func Commands(targets []change.Target, changes []change.Change) []string {
	thread := single(targets, changes)
	var lines []string
	for _, same := range group.By(changes, func(c *change.Change) string { return string(c.Attribute) + " " + attr.Text(c.After) }) {
		c, value := same[0], attr.Text(same[0].After)
		switch cmd := c.Attribute.Command(); {
		case c.Attribute == attr.Affinity:
			lines = append(lines, onTasks("pin", same, thread, "--cpu", value)...)
		case c.Attribute == attr.Autogroup:
			lines = append(lines, onTasks("nice", same, thread, value, "--autogroup")...)
		case c.Attribute == attr.IRQAffinity:
			irqs := numbers(same, func(c change.Change) string { return path.Base(path.Dir(c.Path)) })
			lines = append(lines, command([]string{"irq", "move"}, irqs, "--cpu", value))
		case c.Attribute == attr.Sysctl:
			name := strings.ReplaceAll(strings.TrimPrefix(c.Path, "/proc/sys/"), "/", ".")
			lines = append(lines, command([]string{"sysctl"}, []string{name + "=" + value}))
		case c.Group() != "":
			groups := numbers(same, func(c change.Change) string { return "cgroup:" + c.Group() })
			lines = append(lines, command([]string{cmd.Verb}, groups, value))
		case cmd != nil && cmd.Verb != "":
			lines = append(lines, onTasks(cmd.Verb, same, thread, value)...)
		}
	}
	return lines
}

// single tells which changes are of a thread and not of its process.
func single(targets []change.Target, changes []change.Change) func(change.Change) bool {
	named := map[kernel.TID]bool{} // whether it is a thread alone
	for _, t := range targets {
		named[t.TID] = t.Scope == change.ScopeThread
	}
	type part struct {
		pid kernel.TID
		attr.Attribute
	}
	first, differ := map[part]attr.Value{}, map[part]bool{}
	for _, c := range changes {
		p := part{c.PID, c.Attribute}
		if value, known := first[p]; !known {
			first[p] = c.After
		} else if attr.Text(value) != attr.Text(c.After) {
			differ[p] = true
		}
	}
	return func(c change.Change) bool {
		alone, process := named[c.PID]
		return differ[part{c.PID, c.Attribute}] || named[c.TID] && (alone || !process)
	}
}

// onTasks are the commands for the changes' processes and for single threads.
func onTasks(verb string, changes []change.Change, thread func(change.Change) bool, value ...string) (lines []string) {
	for _, of := range group.By(changes, func(c *change.Change) bool { return thread(*c) }) {
		number, options := func(c change.Change) string { return fmt.Sprint(c.PID) }, value
		if thread(of[0]) {
			number, options = func(c change.Change) string { return fmt.Sprint(c.TID) }, slices.Concat(value, []string{"--thread"})
		}
		lines = append(lines, command([]string{verb}, numbers(of, number), options...))
	}
	return lines
}

// command is a line of piton.
func command(verb, objects []string, options ...string) string {
	return shell.Join(slices.Concat([]string{"piton"}, verb, objects, options)...)
}

// numbers are the changes' objects, each once.
func numbers(changes []change.Change, of func(change.Change) string) []string {
	var all []string
	for _, same := range group.By(changes, func(c *change.Change) string { return of(*c) }) {
		all = append(all, of(same[0]))
	}
	return all
}
