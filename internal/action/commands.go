package action

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/group"
)

// Commands are command lines that make changes again, one for each value that was set:
// "piton pin 21951 --cpu 1". Changes of the kernel's files other than the affinity of
// interrupts and sysctls have none.
func Commands(changes []change.Change) []string {
	var lines []string
	for _, same := range group.By(changes, func(c *change.Change) string { return string(c.Attribute) + " " + attr.Text(c.After) }) {
		c, value := same[0], attr.Text(same[0].After)
		switch cmd := c.Attribute.Command(); {
		case c.Attribute == attr.Affinity:
			lines = append(lines, onTargets("pin", same, "--cpu "+value)...)
		case c.Attribute == attr.IRQAffinity:
			lines = append(lines, fmt.Sprintf("piton irq move %s --cpu %s", words(same, func(c change.Change) string { return path.Base(path.Dir(c.Path)) }), value))
		case c.Attribute == attr.Sysctl:
			lines = append(lines, fmt.Sprintf("piton sysctl %s=%s", strings.ReplaceAll(strings.TrimPrefix(c.Path, "/proc/sys/"), "/", "."), value))
		case cmd != nil && cmd.Verb != "":
			lines = append(lines, onTargets(cmd.Verb, same, value)...)
		}
	}
	return lines
}

// onTargets are the commands for the changes' processes and for their single threads: a
// process of which one thread alone was changed, and not its first, is that thread.
func onTargets(verb string, changes []change.Change, value string) (lines []string) {
	var processes, threads []change.Change
	for _, of := range group.By(changes, func(c *change.Change) int { return int(c.PID) }) {
		if len(of) == 1 && of[0].TID != of[0].PID {
			threads = append(threads, of...)
		} else {
			processes = append(processes, of[0])
		}
	}
	if len(processes) > 0 {
		lines = append(lines, fmt.Sprintf("piton %s %s %s", verb, words(processes, func(c change.Change) string { return fmt.Sprint(c.PID) }), value))
	}
	if len(threads) > 0 {
		lines = append(lines, fmt.Sprintf("piton %s %s %s --thread", verb, words(threads, func(c change.Change) string { return fmt.Sprint(c.TID) }), value))
	}
	return lines
}

// words are the changes' objects, each once.
func words(changes []change.Change, word func(change.Change) string) string {
	var all []string
	for _, c := range changes {
		if w := word(c); !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return strings.Join(all, " ")
}
