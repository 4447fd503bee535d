package attr

import (
	"fmt"
	"strconv"
	"strings"

	"piton/internal/kernel"
)

// Nice is the nice value of a thread, a NiceValue (setpriority(2), sched(7)).
const Nice Attribute = "nice"

// NiceValue is -20 (first) to 19 (last).
type NiceValue int

func (n NiceValue) String() string { return strconv.Itoa(int(n)) }

var nice = spec{
	title: "nice value", parse: parseNice,
	read:  reading(kernel.Scheduler.Nice, func(n int) Value { return NiceValue(n) }),
	write: func(w Write) error { return w.Task.SetNice(int(w.Change.After.(NiceValue))) },
	risk:  riskNice,
	privileged: func(_ *Machine, c Change) (what, limit string, least uint64) {
		if before, ok := c.Before.(NiceValue); ok && c.After.(NiceValue) >= before {
			return "", "", 0
		}
		return fmt.Sprintf("lowering nice from %s to %s", Text(c.Before), Text(c.After)), limitNice, niceLimit(c.After)
	},
	setBy: []string{"tuned", "ananicy", "Nice"},
	command: &Command{
		Flag: "nice", Usage: "nice `VALUE`, -20 (first) to 19 (last)",
		Verb: "nice", Use: "nice TARGET… VALUE", What: "a nice value", Short: "set nice values",
		Long: `Set the nice value, -20 (first) to 19 (last), of ordinary tasks.
Where autogroup is on, nice acts within one session only; --autogroup sets the value of the targets' sessions instead.`,
		Example: "  piton nice 3641 -5\n  piton nice user:build 10\n  piton nice --autogroup 3641 10",
	},
}

// SetNice asks for a nice value.
func SetNice(n int) Setting { return Setting{Nice, NiceValue(n)} }

// parseNice reads "-5", "10", "+3".
func parseNice(text string) (Value, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return nil, Usagef("nice %q is not a number from -20 (first) to 19 (last)", text)
	}
	if n < -20 || n > 19 {
		return nil, Usagef("nice %d is out of range: -20 (first) to 19 (last)", n)
	}
	return NiceValue(n), nil
}

// niceLimit is the RLIMIT_NICE that allows a nice value: 20 less the value
// (getrlimit(2)).
func niceLimit(v Value) uint64 {
	n, _ := v.(NiceValue)
	return uint64(20 - n)
}

func riskNice(v *View, c Change) {
	riskGroup(v, c)
	underSchedExt("nice")(v, c)
}
