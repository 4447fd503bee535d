package hint

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// The tests act on children of their own, the test program again: it exchanges data, or
// holds the programs of a cgroup.
const roleVariable = "PITON_HINT_TEST_ROLE"

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		run := exchange
		if group, ok := strings.CutPrefix(role, "hold "); ok {
			run, role = hold, group
		}
		if rest, ok := strings.CutPrefix(role, "steered"); ok {
			run, role = steered, strings.TrimPrefix(rest, " ")
		}
		if err := run(role); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func hold(group string) error {
	ask, err := Attach(Options{Cgroup: group})
	if err != nil {
		return err
	}
	defer ask.Close()
	answer, err := Serve(Options{Cgroup: group})
	if err != nil {
		return err
	}
	defer answer.Close()
	fmt.Println("attached")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
