package tune

import (
	"strconv"
	"strings"

	"piton/internal/kernel"
)

// defaultIOLevel is what a class without a level means, as for ionice(1).
const defaultIOLevel = 4

var ioClasses = map[string]kernel.IOClass{
	"none": kernel.IONone, "0": kernel.IONone,
	"real-time": kernel.IORealTime, "realtime": kernel.IORealTime, "rt": kernel.IORealTime, "1": kernel.IORealTime,
	"best-effort": kernel.IOBestEffort, "be": kernel.IOBestEffort, "2": kernel.IOBestEffort,
	"idle": kernel.IOIdle, "3": kernel.IOIdle,
}

// FormatIOPrio writes an I/O priority as the table and JSON have it: "none",
// "real-time:0", "best-effort:4", "idle".
func FormatIOPrio(p kernel.IOPrio) string {
	switch p.Class {
	case kernel.IORealTime:
		return "real-time:" + strconv.Itoa(int(p.Level))
	case kernel.IOBestEffort:
		return "best-effort:" + strconv.Itoa(int(p.Level))
	case kernel.IOIdle:
		return "idle"
	}
	return "none"
}

// ParseIOPrio reads an I/O priority as people type it: "best-effort:4", "be:4",
// "rt:0", "idle", "none", or ionice's class numbers, "2:4". A bare real-time or
// best-effort means level 4. Errors are UsageErrors.
func ParseIOPrio(text string) (kernel.IOPrio, error) {
	name, level, hasLevel := strings.Cut(strings.TrimSpace(text), ":")
	class, ok := ioClasses[strings.ToLower(name)]
	if !ok {
		return kernel.IOPrio{}, usagef("I/O priority %q: the class must be real-time, best-effort, idle or none", text)
	}
	prio := kernel.IOPrio{Class: class}
	leveled := class == kernel.IORealTime || class == kernel.IOBestEffort
	switch {
	case hasLevel && !leveled:
		return kernel.IOPrio{}, usagef("I/O priority %q: only real-time and best-effort take a level", text)
	case hasLevel:
		n, err := strconv.ParseInt(level, 10, 8)
		if err != nil {
			return kernel.IOPrio{}, usagef("I/O priority %q: the level must be 0 (first) to 7 (last)", text)
		}
		prio.Level = int8(n)
	case leveled:
		prio.Level = defaultIOLevel
	}
	return prio, validateIOPrio(prio)
}

func validateIOPrio(p kernel.IOPrio) error {
	switch {
	case p.Class > kernel.IOIdle:
		return usagef("I/O class %d: there are 0 none, 1 real-time, 2 best-effort and 3 idle", p.Class)
	case p.Class == kernel.IONone || p.Class == kernel.IOIdle:
		if p.Level != 0 {
			return usagef("I/O priority level %d: only real-time and best-effort take one", p.Level)
		}
	case p.Level < 0 || p.Level > 7:
		return usagef("I/O priority level %d: it must be 0 (first) to 7 (last)", p.Level)
	}
	return nil
}
