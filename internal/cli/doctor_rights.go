package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"piton/internal/bpf"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/pattern"
	"piton/internal/profile"
)

// rights gathers what capabilities would help, for one command that gives them
// all: setcap replaces what a file had.
type rights struct {
	needed []string // CAP_…
}

// useful are the capabilities that features need, with their numbers.
var useful = map[string]kernel.Capability{
	"CAP_SYS_NICE": kernel.CapSysNice, "CAP_PERFMON": kernel.CapPerfmon,
	"CAP_BPF": kernel.CapBPF, "CAP_SYS_PTRACE": kernel.CapSysPtrace,
}

// commandSetcap stands for the command until all rights that it gives are known.
const commandSetcap = "setcap"

// commandHostPIDs gets a container out of its PID namespace.
const commandHostPIDs = "docker run --pid=host …, or run piton on the host"

var capabilityName = pattern.Lazy(`CAP_[A-Z_]+`)

// remedy is the command against a refusal, "" if no command helps.
func (r *rights) remedy(err error) string {
	needs := ""
	var refusal *bpf.Refusal
	var missing *feature.Missing
	switch {
	case errors.As(err, &refusal):
		needs = refusal.Need
	case errors.As(err, &missing):
		needs = missing.Needs
	}
	command := ""
	for _, name := range capabilityName().FindAllString(needs, -1) {
		if _, ok := useful[name]; ok && !slices.Contains(r.needed, name) {
			r.needed = append(r.needed, name)
		}
		command = commandSetcap
	}
	switch {
	case strings.HasPrefix(needs, "ulimit"):
		command = needs
	case strings.Contains(needs, "initial PID namespace"):
		command = commandHostPIDs
	case strings.Contains(needs, "without that filter"):
		command = "docker run --security-opt seccomp=unconfined …"
	}
	return command
}

func (*rights) has(c kernel.Capability) bool {
	held, err := kernel.UsableCapabilities()
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

// command gives all that is needed.
func (r *rights) command() string {
	if kernel.EUID() == 0 { // a root that lacks something is in a container
		var add []string
		for _, name := range r.needed {
			add = append(add, "--cap-add "+strings.TrimPrefix(name, "CAP_"))
		}
		return "docker run " + strings.Join(add, " ") + " …"
	}
	path, err := os.Executable()
	if err != nil {
		path = "piton"
	}
	return fmt.Sprintf("sudo setcap %s+ep %s", strings.ToLower(strings.Join(r.needed, ",")), profile.ShellWord(path))
}
