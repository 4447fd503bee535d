package cli

import (
	"fmt"
	"strconv"
	"strings"

	"piton/internal/change"
	"piton/internal/kernel"
)

// pidList is a flag of process or thread numbers, "3641,3642"; given again it
// adds to the list.
type pidList []kernel.TID

func (l *pidList) Type() string { return "PID,..." }

func (l *pidList) String() string {
	words := make([]string, len(*l))
	for i, pid := range *l {
		words[i] = strconv.Itoa(int(pid))
	}
	return strings.Join(words, ",")
}

func (l *pidList) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		pid, err := parsePID(strings.TrimSpace(word))
		if err != nil {
			return err
		}
		*l = append(*l, pid)
	}
	return nil
}

func (l *pidList) targets(scope change.Scope) []change.Target {
	out := make([]change.Target, len(*l))
	for i, pid := range *l {
		out[i] = change.Target{TID: pid, Scope: scope}
	}
	return out
}

func parsePID(word string) (kernel.TID, error) {
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 1 || strings.HasPrefix(word, "+") {
		return 0, fmt.Errorf("%q is not a process or thread number", word)
	}
	return kernel.TID(n), nil
}
