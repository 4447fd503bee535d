package bpf

import (
	"fmt"
	"strings"
	"testing"

	"piton/internal/bpf/bpftest"
)

// The tests act on children of their own: the test program again, in one of the roles below.
func TestMain(m *testing.M) { bpftest.Main(m, playRole) }

func playRole(role []string) error {
	switch role[0] {
	case "sleep", "spin":
		return bpftest.PlayThreads(role[0] == "spin", role[1:])
	case "pipe", "udp", "nap":
		return playPair(role[0], role[1:])
	case "tcp", "splice", "udp-flow":
		return bpftest.PlayFlows(append([]string{strings.TrimSuffix(role[0], "-flow")}, role[1:]...))
	case "end":
		return nil
	case "open":
		return playOpen(role[1:])
	case "cost":
		return playCost(role[1])
	}
	return fmt.Errorf("no role %q", role)
}

// start runs a role and waits for its first line.
func start(tb testing.TB, role ...string) *bpftest.Child {
	tb.Helper()
	return bpftest.Start(tb, bpftest.Command(role...))
}

// hex writes names as the roles take them.
func hex(names ...string) []string {
	var all []string
	for _, n := range names {
		all = append(all, fmt.Sprintf("%x", n))
	}
	return all
}
