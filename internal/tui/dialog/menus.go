package dialog

import (
	"fmt"
	"slices"
	"strconv"

	"piton/internal/field"
	"piton/internal/kernel"
)

// signals of signal(7), in the order of htop's list: number on x86 and arm64, name.
var signals = []struct {
	number int
	name   string
	help   string
}{
	{15, "SIGTERM", "ask to end"},
	{1, "SIGHUP", "hang up; many daemons reload"},
	{2, "SIGINT", "interrupt, as ^C"},
	{3, "SIGQUIT", "quit with a core dump, as ^\\"},
	{4, "SIGILL", "illegal instruction"},
	{5, "SIGTRAP", "trace trap"},
	{6, "SIGABRT", "abort"},
	{7, "SIGBUS", "bus error"},
	{8, "SIGFPE", "arithmetic error"},
	{9, "SIGKILL", "end at once, nothing saved"},
	{10, "SIGUSR1", "user-defined"},
	{11, "SIGSEGV", "bad memory reference"},
	{12, "SIGUSR2", "user-defined"},
	{13, "SIGPIPE", "broken pipe"},
	{14, "SIGALRM", "alarm clock"},
	{16, "SIGSTKFLT", "stack fault"},
	{17, "SIGCHLD", "child ended"},
	{18, "SIGCONT", "continue if stopped"},
	{19, "SIGSTOP", "stop; cannot be caught"},
	{20, "SIGTSTP", "stop, as ^Z"},
	{21, "SIGTTIN", "background read"},
	{22, "SIGTTOU", "background write"},
	{23, "SIGURG", "urgent data on a socket"},
	{24, "SIGXCPU", "CPU limit"},
	{25, "SIGXFSZ", "file size limit"},
	{26, "SIGVTALRM", "virtual alarm"},
	{27, "SIGPROF", "profiling alarm"},
	{28, "SIGWINCH", "window size"},
	{29, "SIGIO", "input or output possible"},
	{30, "SIGPWR", "power failure"},
	{31, "SIGSYS", "bad system call"},
}

// NewSignals asks which signal to send to the subject ("nqueens (3641)"); the
// value is its number, an int. SIGTERM is under the cursor.
func NewSignals(subject string) *Menu {
	items := make([]Item, len(signals))
	for i, s := range signals {
		items[i] = Item{Label: fmt.Sprintf("%2d %s", s.number, s.name), Detail: s.help, Value: s.number}
	}
	return NewMenu("Send to "+subject, items, 0)
}

// NewSort asks for the column to sort by; the value is the column's ID.
func NewSort(columns []field.TaskColumn, current string) *Menu {
	items, at := make([]Item, len(columns)), 0
	for i, c := range columns {
		if c.ID == current {
			at = i
		}
		items[i] = Item{Label: c.Title, Detail: c.Help, Value: c.ID}
	}
	return NewMenu("Sort by", items, at)
}

// NewIOPriority asks for the I/O priority of the subject; the value is a
// kernel.IOPrio. Classes and levels are those of ioprio_set(2).
func NewIOPriority(subject string, current kernel.IOPrio) *Menu {
	items := []Item{
		{Label: "none", Value: kernel.IOPrio{}, Detail: "follows nice"},
		{Label: "idle", Value: kernel.IOPrio{Class: kernel.IOIdle}, Detail: "only while the disk is idle"},
	}
	items = append(items, ioLevels("best effort", kernel.IOBestEffort, "the usual class; 4 is the default")...)
	items = append(items, ioLevels("real time", kernel.IORealTime, "before everything else; needs CAP_SYS_ADMIN or CAP_SYS_NICE")...)
	at := slices.IndexFunc(items, func(it Item) bool { return it.Value == current })
	return NewMenu("I/O priority of "+subject, items, at)
}

func ioLevels(name string, class kernel.IOClass, first string) []Item {
	items := make([]Item, 8)
	for level := range items {
		items[level] = Item{Label: name + " " + strconv.Itoa(level), Value: kernel.IOPrio{Class: class, Level: int8(level)}}
	}
	items[0].Detail, items[1].Detail = first, "0 is served first, 7 last"
	return items
}
