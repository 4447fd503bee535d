package cli

import (
	"errors"
	"fmt"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/topology"
)

func (a *app) topology() (*topology.Topology, error) {
	t, err := topology.Read(a.hostRoot)
	if err != nil {
		return nil, fmt.Errorf("read the topology: %w", err)
	}
	return t, nil
}

// cpus reads a CPUS expression; plain lists need no look at the machine.
func (a *app) cpus(flag, expr string) (cpuset.Set, error) {
	if expr == "" {
		return cpuset.Set{}, nil
	}
	if set, err := cpuset.Parse(expr); err == nil && !set.Empty() {
		return set, nil
	}
	set, err := a.realCPUs(expr)
	if errors.Is(err, errUsage) {
		err = usagef("%s: %w", flag, err)
	}
	return set, err
}

// realCPUs reads a CPUS expression; numbers that this machine does not have are
// wrong usage.
func (a *app) realCPUs(expr string) (cpuset.Set, error) {
	t, err := topology.ReadFor(a.hostRoot, expr)
	if err != nil {
		return cpuset.Set{}, fmt.Errorf("read the topology: %w", err)
	}
	set, err := topology.ParseCPUs(expr, t)
	if err != nil {
		return cpuset.Set{}, asUsage(err)
	}
	return set, nil
}

// interrupts reads the interrupts once.
func (a *app) interrupts() (irq.Table, error) {
	t, err := irq.NewMonitor(a.hostRoot).Table()
	if err != nil {
		return t, fmt.Errorf("look at the interrupts: %w", err)
	}
	return t, nil
}

// memoryNodes reads which nodes have memory.
func memoryNodes() (cpuset.Set, bool) {
	set, err := attr.ReadSet("/sys/devices/system/node/has_memory")
	return set, err == nil
}
