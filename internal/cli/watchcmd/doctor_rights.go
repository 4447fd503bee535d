package watchcmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"piton/internal/bpf/object"
	"piton/internal/feature"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/pattern"
	"piton/internal/shell"
)

// rights gathers what capabilities would help, for one command that gives them
// all: setcap replaces what a file had.
type rights struct {
	needed   []string // CAP_…
	usable   func() (kernel.Capabilities, error)
	paranoid func() string // kernel.perf_event_paranoid, "" where it cannot be read
}

// useful are the capabilities that features need, with their numbers.
var useful = map[string]kernel.Capability{
	"CAP_SYS_NICE": kernel.CapSysNice, "CAP_PERFMON": kernel.CapPerfmon,
	"CAP_BPF": kernel.CapBPF, tracing: kernel.CapSysPtrace,
}

// tracing also opens the memory of every process, so an ordinary user is not advised
// to have it for good.
const tracing = "CAP_SYS_PTRACE"

// commandSetcap stands for the command until all rights that it gives are known.
const commandSetcap = "setcap"

// commandHostPIDs gets a container out of its PID namespace.
const commandHostPIDs = "docker run --pid=host …, or run piton on the host"

// commandGiven is for a file that has the capabilities, which the kernel did not give
// (execve(2)).
const commandGiven = "start piton without no_new_privs, and from a filesystem that is mounted without nosuid: its file has the capabilities"

// paranoidLevel is the highest kernel.perf_event_paranoid at which a feature works
// without CAP_PERFMON. At 3, a level of Debian's and others, CAP_PERFMON does not help.
var paranoidLevel = pattern.Lazy(`perf_event_paranoid at (\d)`)

var capabilityName = pattern.Lazy(`CAP_[A-Z_]+`)

// remedy is the command against a refusal, "" if no command helps.
func (r *rights) remedy(err error) string {
	needs := ""
	var refusal *object.Refusal
	var missing *feature.Missing
	switch {
	case errors.As(err, &refusal):
		needs = refusal.Need
	case errors.As(err, &missing):
		needs = missing.Needs
	}
	command := ""
	for _, name := range capabilityName().FindAllString(needs, -1) {
		c, ok := useful[name]
		switch {
		case !ok || r.has(c): // it is refused for another reason
			continue
		case name == tracing && kernel.EUID() != 0:
			command = "sudo piton"
			continue
		case !slices.Contains(r.needed, name):
			r.needed = append(r.needed, name)
		}
		command = commandSetcap
	}
	switch level := paranoidLevel().FindStringSubmatch(needs); {
	case level != nil && command == "" && r.paranoid() > level[1]:
		command = "sudo sysctl kernel.perf_event_paranoid=" + level[1]
	case strings.HasPrefix(needs, "ulimit"):
		command = needs
	case strings.Contains(needs, "initial PID namespace"):
		command = commandHostPIDs
	case strings.Contains(needs, "without that filter"):
		command = "docker run --security-opt seccomp=unconfined …"
	}
	return command
}

// perfParanoid is the sysctl of this machine.
func perfParanoid() string {
	text, err := kernel.SystemFiles().ReadSetting("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

func (r *rights) has(c kernel.Capability) bool {
	held, err := r.usable()
	return err == nil && held.Has(c)
}

// complete adds the capabilities that are held, so that the command does not
// take them away.
func (r *rights) complete() {
	for name, c := range useful {
		if r.has(c) && !slices.Contains(r.needed, name) {
			r.needed = append(r.needed, name)
		}
	}
	slices.Sort(r.needed)
}

// granted reports whether a file has all that is needed.
func (r *rights) granted(path string) bool {
	has, err := kernel.FileCapabilities(path)
	return err == nil && !slices.ContainsFunc(r.needed, func(name string) bool { return !has.Has(useful[name]) })
}

// command gives all that is needed. Everyone who may execute the file has the capabilities,
// so it is limited to a group. setcap is last, as chgrp removes them.
func (r *rights) command() string {
	if kernel.EUID() == 0 { // a root that lacks something is in a container
		add := group.Each(r.needed, func(name string) string { return "--cap-add " + strings.TrimPrefix(name, "CAP_") })
		return "docker run " + strings.Join(add, " ") + " …"
	}
	path, err := os.Executable()
	if err != nil {
		path = "piton"
	}
	if r.granted(path) {
		return commandGiven
	}
	file := shell.Word(path)
	setcap := fmt.Sprintf("sudo setcap %s+p %s", strings.ToLower(strings.Join(r.needed, ",")), file)
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o001 != 0 {
		return fmt.Sprintf("sudo chgrp $(id -gn) %s && sudo chmod 0750 %s && %s", file, file, setcap)
	}
	return setcap
}
