package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/kernel/tree"
	"piton/internal/partition"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/topology"
)

// State is the machine as a profile sees it.
type State struct {
	Topology   *topology.Topology
	Ticks      uint64         // USER_HZ since boot, when the reading began
	Tasks      []*sample.Task // threads included, with full identities, and masks with CPUs that are offline
	IRQs       []irq.IRQ
	NICs       []irq.NIC
	DefaultIRQ irq.Mask
	Workqueue  irq.Mask
	Masks      []partition.Mask // of files, that an isolation is about
	// Apart are CPUs that piton has isolated already; an isolation sends nothing there.
	Apart cpuset.Set
	// Unmovable are the files of interrupt lines that could not be moved when it was
	// tried: before Linux 6.12 that does not show beforehand.
	Unmovable map[string]bool
	Self      kernel.TID // whose tasks no item means; 0 for none

	// Sysctl reads a file below /proc/sys, and Sysctls lists those that fit a glob.
	Sysctl  func(file string) (string, error)
	Sysctls func(glob string) []string
	// Value asks the kernel for an attribute that a sample does not have; nil on a
	// root that is not this machine's.
	Value func(a attr.Attribute, tid kernel.TID) (attr.Value, error)
	// Group plans a setting of the control group of a process; nil as Value.
	Group func(pid kernel.TID, s attr.Setting) change.Change
	// Cpuset returns the CPUs that a process's cpuset allows; nil = all.
	Cpuset func(pid kernel.TID) (cpuset.Set, error)
}

// Needs says which parts of a State have to be read.
type Needs struct{ Tasks, Interrupts bool }

// Needs says which parts Resolve looks at.
func (p *Profile) Needs() Needs {
	isolates := p.Isolation.CPUs != ""
	return Needs{
		Tasks:      len(p.items()) > 0 || isolates,
		Interrupts: len(p.IRQs)+len(p.Queues) > 0 || isolates,
	}
}

// Read reads the state below a root, "/" for this machine.
func Read(root string, needs Needs) (*State, error) {
	topo, err := topology.Read(root)
	if err != nil {
		return nil, fmt.Errorf("read the topology: %w", err)
	}
	s := &State{Topology: topo, Self: kernel.TID(os.Getpid())}
	if up, err := procfs.New(root).File("uptime"); err == nil {
		s.Ticks, _ = procfs.ParseUptimeTicks(up) // 0: not known
	}
	sysctls := filepath.Join(root, "proc", "sys")
	s.Sysctl = func(file string) (string, error) {
		b, err := procfs.ReadFile(filepath.Join(sysctls, file))
		return SysctlWords(string(b)), err
	}
	s.Sysctls = func(glob string) []string { return globBelow(sysctls, glob) }
	if procfs.New(root).Live() {
		t := change.New(change.Options{})
		s.Value, s.Group = t.Value, t.GroupChange
	}
	if needs.Tasks {
		if s.Tasks, err = readTasks(root); err != nil {
			return nil, fmt.Errorf("look at the tasks: %w", err)
		}
	}
	fs := irq.New(root)
	s.DefaultIRQ, s.Workqueue = fs.Default(), irq.ReadMask(filepath.Join(root, partition.Workqueues.Path))
	if !needs.Interrupts {
		return s, nil
	}
	s.NICs = fs.NICs()
	s.Masks = partition.ReadMasks(root)
	if _, err := tree.Stat(filepath.Join(root, "proc", "interrupts")); errors.Is(err, os.ErrNotExist) {
		return s, nil // a container's view, or a tree without it
	}
	snapshot, err := fs.NewReader().Read()
	if errors.Is(err, irq.ErrMasked) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the interrupts: %w", err)
	}
	s.IRQs = snapshot.IRQs
	return s, nil
}

func readTasks(root string) ([]*sample.Task, error) {
	s, err := sample.New(sample.Options{Root: root, Needs: sample.Needs{
		Threads: true, Identity: true, Exe: true, Affinity: true, IOPrio: true, All: true,
	}})
	if err != nil {
		return nil, err
	}
	n, err := s.Read()
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if proc := procfs.New(root); proc.Live() { // of a tree they are read from files, which have them
		wholeMasks(attr.NewMachine(attr.Sources{Proc: proc}), n.Tasks)
	}
	return n.Tasks, nil
}

// wholeMasks adds the CPUs that are offline, which sched_getaffinity(2) leaves out, to the masks
// of tasks: what a profile sets or saves would be without them for good. A task that ends
// meanwhile keeps what it has.
func wholeMasks(m *attr.Machine, tasks []*sample.Task) {
	if !m.CheckOffline() {
		return
	}
	for _, t := range tasks {
		if t.Have&sample.HaveAffinity == 0 {
			continue
		}
		if mask, _ := m.CPUsAllowed(t.TID); !mask.Empty() { // another line may be odd
			t.Affinity = mask
		}
	}
}

// globBelow lists the files that a glob means, relative to the directory.
func globBelow(dir, glob string) []string {
	var out []string
	for _, path := range tree.Glob(dir, glob) {
		if info, err := tree.Stat(path); err == nil && info.Mode().IsRegular() {
			out = append(out, strings.TrimPrefix(path, dir+"/"))
		}
	}
	slices.Sort(out)
	return out
}

// online is the CPUs that are on.
func (s *State) online() cpuset.Set { return s.Topology.Online }

// cpus reads a CPUS expression for this machine.
func (s *State) cpus(expr string) (cpuset.Set, error) {
	if expr == "" {
		return cpuset.Set{}, nil
	}
	if set, err := cpuset.Parse(expr); err == nil && !set.Empty() {
		return set, nil
	}
	return topology.ParseCPUs(expr, s.Topology)
}
