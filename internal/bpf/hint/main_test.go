package hint

import (
	"fmt"
	"os"
	"testing"
)

// The tests act on children of their own, the test program again: exchange.
const roleVariable = "PITON_HINT_TEST_ROLE"

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		if err := exchange(role); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
