package field

import (
	"bytes"
	"strings"
	"time"

	"piton/internal/sample"
)

// commandColumn is the command line; kernel threads are shown as ps does, in
// brackets, and a thread of a process by its own name.
func commandColumn() TaskColumn {
	c := words(TaskColumn{ID: "command", Title: "COMMAND", Help: "command line; [name] for kernel threads"}, command)
	c.Append = AppendCommand
	return c
}

// AppendCommand adds the text of COMMAND, safe to print.
func AppendCommand(dst []byte, r Row) []byte {
	id := r.identity()
	if showsComm(r.Task(), id) {
		if strings.TrimSpace(id.Comm) == "" { // a task may take blanks for its name
			return appendNone(dst, r)
		}
		if r.Task().Flags&sample.FlagKernelThread == 0 || r.Sum() {
			return AppendClean(dst, id.Comm, r.ASCII)
		}
		dst = append(dst, '[')
		dst = AppendClean(dst, id.Comm, r.ASCII)
		return append(dst, ']')
	}
	return AppendClean(dst, id.Cmdline, r.ASCII)
}

// Program is where the name of the program is in the text of COMMAND: behind its
// directory, before its arguments or what a process that renamed itself says after a
// colon. A thread has a name and nothing else.
func Program(r Row, command []byte) (start, end int) {
	if showsComm(r.Task(), r.identity()) {
		return 0, len(command)
	}
	if end = bytes.IndexByte(command, ' '); end < 0 {
		end = len(command)
	}
	end = len(bytes.TrimRight(command[:end], ":"))
	if start = bytes.LastIndexByte(command[:end], '/') + 1; start == end {
		start = 0
	}
	return start, end
}

func command(r Row) string {
	id := r.identity()
	switch {
	case !showsComm(r.Task(), id):
		return id.Cmdline
	case r.Task().Flags&sample.FlagKernelThread != 0 && !r.Sum():
		return "[" + id.Comm + "]"
	}
	return id.Comm
}

func showsComm(t *sample.Task, id *sample.Identity) bool {
	return strings.TrimSpace(id.Cmdline) == "" || !t.IsProcess()
}

// StartTime is when the task started, by the time of boot; false where that is not known.
func StartTime(r Row) (time.Time, bool) {
	s := r.M.Sample
	if s.Host.TicksPerSecond <= 0 || s.Host.Boot.IsZero() || r.Sum() {
		return time.Time{}, false
	}
	return s.Host.Boot.Add(time.Duration(r.Task().StartTicks) * (time.Second / time.Duration(s.Host.TicksPerSecond))), true
}

// startColumn shows the hour within a day, then the date, then the year.
func startColumn() TaskColumn {
	get := func(r Row) float64 {
		if r.Sum() {
			return nan
		}
		return float64(r.Task().StartTicks)
	}
	c := real(TaskColumn{ID: "start", Title: "START", Width: 6, Names: true, Desc: true,
		Help:    "when it started: the hour, from a day on the date",
		Missing: func(Row) string { return "the time of boot is not known" }}, get)
	c.Type = TypeText
	c.Value = func(r Row) any {
		if t, ok := StartTime(r); ok {
			return t.UTC().Round(10 * time.Millisecond).Format(time.RFC3339Nano)
		}
		return nil
	}
	c.Append = func(dst []byte, r Row) []byte {
		t, ok := StartTime(r)
		switch age := r.M.Sample.Wall.Sub(t); {
		case !ok:
			return appendNone(dst, r)
		case age < 24*time.Hour:
			return t.AppendFormat(dst, "15:04")
		case age < 365*24*time.Hour:
			return t.AppendFormat(dst, "Jan02")
		default:
			return t.AppendFormat(dst, "2006")
		}
	}
	return c
}
