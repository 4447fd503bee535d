package profile

import (
	"fmt"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/pattern"
	"piton/internal/taskfile"
)

// rtctlLine is a line of rtctl: group:policy:priority:affinity:regex. Files of
// rtctl itself have no affinity.
var rtctlLine = pattern.Lazy(`^([^:\s]+):([fbroidn*]):([0-9]*):(?:([0-9a-fA-Fx,*]*):)?(.+)$`)

// tunaLine is a line of tuna save (generate_rtgroups in tuna/tuna.py, the same in
// 0.15 and 0.19). Its group is a thread's name, which may be empty or contain
// anything: "sugov:0", "tmux: server".
var tunaLine = pattern.Lazy(`^(.*):([fbroidn*]):([0-9]+):([0-9a-fx,*]*):\\\[(.*)\\\]\$$`)

// splitRtctl returns the fields of a line, nil if it has neither form.
func splitRtctl(line string) []string {
	m := tunaLine().FindStringSubmatch(line)
	if m == nil {
		return rtctlLine().FindStringSubmatch(line)
	}
	const rest = `\/.*` // for threads name/0, name/1
	switch group, names := m[1], m[5]; names {
	case group: // tuna writes the name without escapes where rtctl reads a regex
		m[5] = `\[` + literally(group) + `\]$`
	case group + rest:
		m[5] = `\[` + literally(group) + rest + `\]$`
	default:
		m[5] = `\[` + names + `\]$`
	}
	return m
}

// isRtctl reports whether the first line that says something has one of the forms.
func isRtctl(data []byte) bool {
	for _, line := range meaningful(data, rtctlComments) {
		return splitRtctl(line) != nil
	}
	return false
}

// rtctlComments begin the comments of rtctl's files.
const rtctlComments = "#"

// rtctlPolicies are by the letters of the second field. * leaves the policy alone,
// and so do d and n, with which tuna saves what it cannot set itself: DEADLINE,
// which needs a runtime, and policies that it does not know.
var rtctlPolicies = map[string]taskfile.Text{"f": "FIFO", "r": "RR", "b": "BATCH", "o": "OTHER", "i": "IDLE"}

// parseRtctl reads rtctl groups. A later group wins over an earlier one, as the
// catch-all comes first in tuna's files. Kernel threads come and go with kernels
// and devices, so none of the groups is required to mean something.
func parseRtctl(data []byte) (*Profile, error) {
	p := &Profile{Version: Version, Origin: "rtctl groups, as tuna save writes them"}
	var budget pattern.Budget
	for number, line := range meaningful(data, rtctlComments) {
		m := splitRtctl(line)
		if m == nil {
			return nil, &Error{Line: number, Text: "this is no rtctl group, name:policy:priority:affinity:regex with f, r, b, o, i or * as the policy"}
		}
		err := budget.Take(m[5])
		var t Task
		if err == nil {
			t, err = rtctlTask(m[2], m[3], m[4], m[5])
		}
		if err != nil {
			return nil, &Error{Line: number, Text: err.Error()}
		}
		t.line = number
		if t.Policy != "" || t.CPUs != "" {
			p.any = append(p.any, t)
		}
	}
	return p, nil
}

func rtctlTask(letter, priority, mask, expr string) (Task, error) {
	t := Task{kind: AllTasks, Optional: true, Command: expr, Policy: rtctlPolicies[letter]}
	if letter == "f" || letter == "r" {
		n, err := strconv.Atoi(priority)
		if err != nil || n < 1 || n > 99 {
			return t, fmt.Errorf("the priority %q must be 1 (lowest) to 99 (highest)", priority)
		}
		t.Policy += taskfile.Text(":" + strconv.Itoa(n))
	}
	if mask == "" || mask == "*" {
		return t, nil
	}
	cpus, err := rtctlMask(mask)
	if err != nil {
		return t, err
	}
	t.CPUs = cpus.String()
	return t, nil
}

// rtctlMask reads words of 32 bits, the highest first, each with its own 0x and
// without leading zeros, as python's hex() writes them. tuna saves an empty mask of
// a thread whose CPUs are all offline; it leaves the affinity alone.
func rtctlMask(text string) (cpuset.Set, error) {
	words := strings.Split(text, ",")
	for i, w := range words {
		w = strings.TrimPrefix(strings.ToLower(w), "0x")
		if w == "" || len(w) > 8 {
			return cpuset.Set{}, fmt.Errorf("%q is no mask of CPUs", text)
		}
		words[i] = strings.Repeat("0", 8-len(w)) + w
	}
	return cpuset.ParseMask(strings.Join(words, ","))
}
