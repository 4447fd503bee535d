package change

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// TransientGroup is a cgroup of version 2 that limits one command's CPUs and
// memory nodes, and is removed when nothing is left in it.
type TransientGroup struct {
	Dir string
	// Enabled is the group above, when the cpuset controller had to be switched on
	// for it; "" otherwise.
	Enabled string
}

// NewGroup makes a cgroup below the calling process's own, or below the nearest
// one above it where that may be done. No memory nodes means those of the group
// above. An error that Is attr.ErrNotSupported or attr.ErrNotPermitted says why there can be
// none here.
func (t *Tuner) NewGroup(cpus, mems cpuset.Set) (TransientGroup, error) {
	self := kernel.TID(os.Getpid())
	g, err := t.Cgroup(self, "cpuset")
	switch {
	case err != nil:
		return TransientGroup{}, fmt.Errorf("a cgroup for the command: %w: %w", attr.ErrNotSupported, err)
	case !g.Unified:
		return TransientGroup{}, fmt.Errorf("a cgroup for the command: %w: the cpuset controller is in a hierarchy of version 1, "+
			"and only groups of version 2 come and go with a command", attr.ErrNotSupported)
	}
	name := fmt.Sprintf("piton-run-%d", self)
	for path := g.Path; ; path = filepath.Dir(path) {
		group, err := makeGroup(g.File(path, ""), name)
		switch {
		case err == nil:
			return group, group.limit(cpus, mems)
		case path == "/":
			return TransientGroup{}, fmt.Errorf("a cgroup for the command: %w", markGroup(err))
		}
	}
}

// makeGroup makes a group that has the cpuset controller.
func makeGroup(parent, name string) (TransientGroup, error) {
	g := TransientGroup{Dir: filepath.Join(parent, name)}
	if err := os.Mkdir(g.Dir, 0o755); err != nil {
		return g, err
	}
	if _, err := os.Stat(filepath.Join(g.Dir, "cpuset.cpus")); err == nil {
		return g, nil
	}
	// EBUSY: it has processes of its own (cgroups(7), "no internal processes").
	if err := writeGroup(parent, "cgroup.subtree_control", "+cpuset"); err != nil {
		return g, errors.Join(err, os.Remove(g.Dir))
	}
	g.Enabled = parent
	return g, nil
}

func writeGroup(dir, file, text string) error {
	return kernel.SystemFiles().WriteSetting(filepath.Join(dir, file), text)
}

// limit sets what the group may use, and removes it again if that fails.
func (g TransientGroup) limit(cpus, mems cpuset.Set) error {
	err := writeGroup(g.Dir, "cpuset.cpus", cpus.String())
	if err == nil && !mems.Empty() {
		err = writeGroup(g.Dir, "cpuset.mems", mems.String())
	}
	if err == nil {
		var effective cpuset.Set
		effective, err = attr.ReadSet(filepath.Join(g.Dir, "cpuset.cpus.effective"))
		if err == nil && effective.And(cpus).Empty() {
			err = fmt.Errorf("the group above allows none of %s", cpus.InWords())
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("limit %s: %w", g.Dir, err), g.Remove())
	}
	return nil
}

// Enter moves the calling process into the group.
func (g TransientGroup) Enter() error {
	if err := writeGroup(g.Dir, "cgroup.procs", "0"); err != nil {
		return fmt.Errorf("enter %s: %w", g.Dir, err)
	}
	return nil
}

// Empty reports whether no process is in the group or below it, and so whether
// it can be removed; a group that is gone is empty.
func (g TransientGroup) Empty() (bool, error) {
	data, err := os.ReadFile(filepath.Join(g.Dir, "cgroup.events"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return true, nil
	}
	return strings.Contains(string(data), "populated 0\n"), err
}

// Remove removes the group, those below it that the command left, and switches
// the controller off again unless others use it by now: the kernel would take
// their limits from them without a word (cgroup_subtree_control_write asks only
// whether they hand the controller down).
func (g TransientGroup) Remove() error {
	below, err := os.ReadDir(g.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range below {
		if e.IsDir() {
			err = errors.Join(err, TransientGroup{Dir: filepath.Join(g.Dir, e.Name())}.Remove())
		}
	}
	if err = errors.Join(err, os.Remove(g.Dir)); err == nil && g.Enabled != "" && !limitsBelow(g.Enabled) {
		_ = writeGroup(g.Enabled, "cgroup.subtree_control", "-cpuset") // EBUSY: handed down further
	}
	return err
}

// limitsBelow reports whether a group right below dir has a cpuset of its own, or
// may have one.
func limitsBelow(dir string) bool {
	groups, err := os.ReadDir(dir)
	if err != nil {
		return true
	}
	for _, group := range groups {
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if set, err := attr.ReadSet(filepath.Join(dir, group.Name(), file)); err == nil && !set.Empty() {
				return true
			}
		}
	}
	return false
}

// markGroup tells rights from what the kernel does not have.
func markGroup(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: none of the groups above may be changed by this user (%w); run piton with sudo, or delegate the cpuset controller (Delegate=cpuset)",
			attr.ErrNotPermitted, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: the cgroups are mounted read-only here, as in a container", attr.ErrNotSupported)
	case errors.Is(err, syscall.EINVAL), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the cpuset controller is not available in this hierarchy", attr.ErrNotSupported)
	}
	return err
}
