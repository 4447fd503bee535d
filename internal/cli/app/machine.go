package app

import (
	"fmt"

	"piton/internal/change/attr"
	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/topology"
)

// Topology reads which CPUs there are.
func (a *App) Topology() (*topology.Topology, error) {
	t, err := topology.Read(a.HostRoot)
	if err != nil {
		return nil, fmt.Errorf("read the topology: %w", err)
	}
	return t, nil
}

// FlagCPUs reads the CPUS expression of a flag as CPUs does; "" is none.
func (a *App) FlagCPUs(flag, expr string) (cpuset.Set, error) {
	if expr == "" {
		return cpuset.Set{}, nil
	}
	set, err := a.CPUs(expr)
	if err != nil {
		err = fmt.Errorf("%s: %w", flag, err)
	}
	return set, err
}

// CPUs reads the CPUS expression of a command: one that the machine does not have is an
// error, one that is offline is not.
func (a *App) CPUs(expr string) (cpuset.Set, error) {
	t, err := topology.ReadFor(a.HostRoot, expr)
	if err != nil {
		return cpuset.Set{}, fmt.Errorf("read the topology: %w", err)
	}
	return CPUsOf(expr, t)
}

// CPUsOf is CPUs for a machine that may be another one.
func CPUsOf(expr string, t *topology.Topology) (cpuset.Set, error) {
	set, err := topology.ParseCPUs(expr, t)
	if err != nil && topology.CheckCPUs(expr) != nil {
		err = exit.With(exit.Usage, err) // on any machine
	}
	return set, err
}

// Interrupts reads the interrupts once.
func (a *App) Interrupts() (irq.Table, error) {
	t, err := irq.NewMonitor(a.HostRoot).Table()
	if err != nil {
		return t, fmt.Errorf("look at the interrupts: %w", err)
	}
	return t, nil
}

// MemoryNodes reads which nodes have memory.
func MemoryNodes() (cpuset.Set, bool) {
	set, err := attr.ReadSet("/sys/devices/system/node/has_memory")
	return set, err == nil
}
