package tune

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/pattern"
)

// The attributes of files of the kernel, below /proc and /sys.
const (
	IRQAffinity        Attribute = "irq-affinity"         // an interrupt line's CPUs (Documentation/core-api/irq/irq-affinity.rst)
	DefaultIRQAffinity Attribute = "default-irq-affinity" // those that new lines get
	WorkqueueMask      Attribute = "workqueue-cpumask"    // CPUs of unbound workqueues (Documentation/core-api/workqueue.rst)
	RPSCPUs            Attribute = "rps-cpus"             // that process a receive queue's packets (Documentation/networking/scaling.rst)
	XPSCPUs            Attribute = "xps-cpus"             // whose packets take a sending queue
	RPSFlows           Attribute = "rps-flow-cnt"         // of a receive queue, that RFS steers
	RFSEntries         Attribute = "rfs-entries"          // of RFS's table, for all interfaces
	Sysctl             Attribute = "sysctl"               // any file below /proc/sys
	AutogroupNice      Attribute = "autogroup"            // the nice value of a process's session (sched(7))
)

// FileSetting is a value to give to a file below /proc or /sys.
type FileSetting struct {
	Attribute Attribute
	Path      string // absolute: "/proc/irq/24/smp_affinity_list"
	// Name is what users call it: "irq 24 (virtio0-input.0)", "eth0 rx-0",
	// "kernel.sched_rt_runtime_us". The path stands in where it is "".
	Name string
	// Value is a cpulist for CPUs, "0-3", whatever the file's own notation is, and
	// "" for none; else the file's words.
	Value string
}

// fileAttribute says which files an attribute is of, and how their text is read
// as a value and written.
type fileAttribute struct {
	path   func() *regexp.Regexp // of the whole path
	decode func(text string) (string, error)
	encode func(value string) (string, error) // also the judge of what a value is
	cpus   bool                               // the value is a cpulist
	rounds bool                               // the kernel rounds numbers up
	title  string                             // of the attribute in a sentence
	noun   [2]string                          // one object, several
}

const queuePath = `/sys/class/net/[^/\s\x00]+/queues/`

var fileAttributes = map[Attribute]fileAttribute{
	IRQAffinity: {
		path: pattern.Whole(`/proc/irq/[0-9]+/smp_affinity_list`), decode: decodeList, encode: encodeList,
		cpus: true, title: "affinity", noun: [2]string{"IRQ", "IRQs"},
	},
	DefaultIRQAffinity: {
		path: pattern.Whole(`/proc/irq/default_smp_affinity`), decode: decodeMask, encode: encodeMask,
		cpus: true, title: "affinity", noun: [2]string{"default of new IRQs", "defaults of new IRQs"},
	},
	WorkqueueMask: {
		path: pattern.Whole(`/sys/devices/virtual/workqueue/([^/\s\x00]+/)?cpumask`), decode: decodeMask, encode: encodeMask,
		cpus: true, title: "CPUs", noun: [2]string{"workqueue mask", "workqueue masks"},
	},
	RPSCPUs: {
		path: pattern.Whole(queuePath + `rx-[0-9]+/rps_cpus`), decode: decodeMask, encode: encodeAnyMask,
		cpus: true, title: "RPS CPUs", noun: [2]string{"receive queue", "receive queues"},
	},
	XPSCPUs: {
		path: pattern.Whole(queuePath + `tx-[0-9]+/xps_cpus`), decode: decodeMask, encode: encodeAnyMask,
		cpus: true, title: "XPS CPUs", noun: [2]string{"sending queue", "sending queues"},
	},
	RPSFlows: {
		path: pattern.Whole(queuePath + `rx-[0-9]+/rps_flow_cnt`), decode: decodeWords, encode: encodeCount,
		rounds: true, title: "RFS flows", noun: [2]string{"receive queue", "receive queues"},
	},
	RFSEntries: {
		path: pattern.Whole(`/proc/sys/net/core/rps_sock_flow_entries`), decode: decodeWords, encode: encodeCount,
		rounds: true, title: "entries", noun: [2]string{"flow table", "flow tables"},
	},
	Sysctl: {
		path: pattern.Whole(`/proc/sys/[^/\s\x00]+(/[^/\s\x00]+)*`), decode: decodeWords, encode: encodeWords,
		title: "value", noun: [2]string{"sysctl", "sysctls"},
	},
	AutogroupNice: {
		path: pattern.Whole(`/proc/[0-9]+/autogroup`), decode: decodeAutogroup, encode: encodeNice,
		title: "autogroup nice", noun: [2]string{"session", "sessions"},
	},
}

// canonical is the value as read would return it; the error is a UsageError.
func (f fileAttribute) canonical(value string) (string, error) {
	text, err := f.encode(value)
	if err == nil && f.cpus {
		text, err = f.decode(text)
	}
	if err != nil {
		return "", usagef("%v", err)
	}
	return text, nil
}

// programs are sysctls that make the kernel run what they name, with all
// rights. piton has no use for them, and an entry of a journal none either.
var programs = []string{
	"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug",
	"/proc/sys/kernel/poweroff_cmd", "/proc/sys/kernel/usermodehelper/", "/proc/sys/fs/binfmt_misc/",
}

// fileOf returns the attribute's line of the table if the path is one of its
// files, else a UsageError: nothing can make piton write elsewhere.
func fileOf(a Attribute, file string) (fileAttribute, error) {
	f, ok := fileAttributes[a]
	switch {
	case !ok:
		return f, usagef("%q is not an attribute of a file", a)
	case path.Clean(file) != file || !f.path().MatchString(file):
		return f, usagef("%q is not a file of %s", file, a)
	case slices.ContainsFunc(programs, func(p string) bool { return strings.HasPrefix(file, p) }):
		return f, usagef("%s names a program that the kernel runs: piton does not set it", file)
	}
	return f, nil
}

func decodeList(text string) (string, error) {
	set, err := cpuset.Parse(text)
	return set.String(), err
}

func encodeList(value string) (string, error) {
	set, err := someCPUs(value)
	return set.String(), err
}

func decodeMask(text string) (string, error) {
	set, err := cpuset.ParseMask(text)
	return set.String(), err
}

func encodeMask(value string) (string, error) {
	set, err := someCPUs(value)
	return set.Mask(), err
}

func encodeAnyMask(value string) (string, error) {
	set, err := cpuset.Parse(value)
	return set.Mask(), err
}

func someCPUs(value string) (cpuset.Set, error) {
	set, err := cpuset.Parse(value)
	if err == nil && set.Empty() {
		err = usagef("the list of CPUs is empty: it needs at least one")
	}
	return set, err
}

// decodeWords leaves out how much white space there is between the words of a
// sysctl: the kernel writes tabs, people blanks.
func decodeWords(text string) (string, error) { return strings.Join(strings.Fields(text), " "), nil }

func encodeWords(value string) (string, error) {
	if strings.ContainsAny(value, "\x00\n") {
		return "", usagef("%q is not one line of text", value)
	}
	return decodeWords(value)
}

func encodeCount(value string) (string, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
	if err != nil {
		return "", usagef("%q is not a count", value)
	}
	return strconv.FormatUint(n, 10), nil
}

// errNoSession is for the processes of which the kernel has no autogroup.
var errNoSession = markedError{errors.New("it is in no autogroup: it belongs to no session that was started while autogroup was on"), ErrNotSupported}

// decodeAutogroup reads "/autogroup-25 nice 0".
func decodeAutogroup(text string) (string, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return "", errNoSession
	}
	if len(words) != 3 || words[1] != "nice" {
		return "", fmt.Errorf("autogroup: %q is not what it should be", text)
	}
	n, err := ParseNice(words[2])
	return strconv.Itoa(n), err
}

func encodeNice(value string) (string, error) {
	n, err := ParseNice(value)
	return strconv.Itoa(n), err
}
