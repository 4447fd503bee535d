package tune

import (
	"fmt"
	"strconv"
	"strings"
)

// UsageError is a request that could never be carried out, whatever the
// system's state: a value out of range, a word that is none.
type UsageError string

func (e UsageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }

// ParseNice reads a nice value: "-5", "10", "+3". Errors are UsageErrors.
func ParseNice(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, usagef("nice %q is not a number from -20 (first) to 19 (last)", text)
	}
	return n, validateNice(n)
}

func validateNice(n int) error {
	if n < -20 || n > 19 {
		return usagef("nice %d is out of range: -20 (first) to 19 (last)", n)
	}
	return nil
}
