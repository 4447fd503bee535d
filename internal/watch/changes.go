package watch

import (
	"context"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"piton/internal/bpf"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Attributes that are watched though piton sets none of them.
const (
	Cpuset attr.Attribute = "cpuset" // the CPUs of a control group
	Cgroup attr.Attribute = "cgroup" // which one a task is in
)

// Setting is one attribute that somebody set, or tried to.
type Setting struct {
	At        time.Duration // CLOCK_MONOTONIC
	By        Changer
	Of        attr.Object // a task; or a control group, which has a Group
	Whole     string      // instead: "process group 12", "user 1000", of which all tasks are meant
	Attribute attr.Attribute
	From, To  string        // as Attribute has them; "" where that is not known. To is what was asked for if it was refused
	Errno     syscall.Errno // 0: it was set
	whole     wholeOf
}

// Changer is the thread that set something.
type Changer struct {
	PID, TID kernel.TID
	Comm     string
	Unit     string // systemd's, "" for none
	Own      bool   // it runs the program that this process runs
}

// Itself reports whether a process set something of itself.
func (s *Setting) Itself() bool { return s.By.PID == s.Of.PID }

// Settings are what was set since the last ones.
type Settings struct {
	List []Setting
	Over time.Duration
	Lost uint64 // that are not listed: they came too fast
}

// Changes tells who sets how tasks and control groups are scheduled, of targets or of all. It
// needs eBPF: nothing else tells.
type Changes struct {
	kernel  *bpf.Changes
	fs      procfs.FS
	targets Targets // without IDs: all
	values  values
	read    []bpf.Change
	told    time.Duration
}

// changesEvery is how often they are read: the ring has room for 2,000 and more.
const changesEvery = 100 * time.Millisecond

// OpenChanges begins to watch. An error that Is feature.ErrNotSupported says what is missing.
func OpenChanges(fs procfs.FS, t Targets) (*Changes, error) {
	k, err := bpf.OpenChanges(bpf.ChangesBytes)
	if err != nil {
		return nil, err
	}
	c := &Changes{kernel: k, fs: fs, targets: t, values: newValues(fs), told: kernel.Monotonic()}
	// A call that fails shows how the kernel calls the program of this process, which a path does
	// not on every file system.
	const noSuchKind = 99
	_ = syscall.Setpriority(noSuchKind, 0, 0)
	if c.read, _, err = k.Read(nil); err != nil {
		k.Close()
		return nil, err
	}
	own := slices.IndexFunc(c.read, func(one bpf.Change) bool {
		return one.ByTGID == kernel.TID(os.Getpid()) && one.Call == bpf.SetPriority && one.Args[0] == noSuchKind
	})
	if own >= 0 {
		c.values.own = c.read[own].Running()
		c.read = slices.Delete(c.read, own, own+1)
	}
	return c, nil
}

// Close ends watching and detaches.
func (c *Changes) Close() { c.kernel.Close() }

// Read returns what was set since the last call, or since the opening.
func (c *Changes) Read() (s Settings, err error) {
	c.read, s.Lost, err = c.kernel.Read(c.read)
	now := kernel.Monotonic()
	s.Over, c.told = now-c.told, now
	for i := range c.read {
		for _, one := range c.values.settings(&c.read[i]) {
			if c.covers(&one) {
				s.List = append(s.List, one)
			}
		}
	}
	c.read = c.read[:0]
	return s, err
}

// Run calls on with what was set, until the duration is over (0 = for ever), ctx ends, no target
// is left, or on fails.
func (c *Changes) Run(ctx context.Context, d time.Duration, on func(Settings) error) error {
	return runEvery(ctx, changesEvery, d, c.left, c.Read, on)
}

func (c *Changes) left() bool {
	return len(c.targets.IDs) == 0 || slices.ContainsFunc(c.targets.IDs, exists(c.fs))
}

// covers reports whether something that was set concerns a target.
func (c *Changes) covers(s *Setting) bool {
	switch group := s.Of.Group(); {
	case len(c.targets.IDs) == 0:
		return true
	case s.Whole != "":
		return slices.ContainsFunc(c.targets.IDs, func(id kernel.TID) bool { return s.whole.has(c.fs, id) })
	case group != "":
		controller := path.Base(s.Of.Path)
		controller, _, _ = strings.Cut(controller, ".")
		return slices.ContainsFunc(c.targets.IDs, func(id kernel.TID) bool { return within(c.fs, id, controller, group) })
	case c.targets.Scope == Thread:
		return slices.Contains(c.targets.IDs, s.Of.TID)
	case slices.Contains(c.targets.IDs, s.Of.PID):
		return true
	case c.targets.Scope != Tree:
		return false
	}
	ids, err := Descendants(c.fs, c.targets.IDs)
	if err == nil && len(ids) > 0 {
		c.targets.IDs = ids
	}
	return slices.Contains(c.targets.IDs, s.Of.PID)
}

// within reports whether a task is in a group or below it.
func within(fs procfs.FS, id kernel.TID, controller, group string) bool {
	groups, err := fs.Cgroup(id)
	if err != nil {
		return false
	}
	in, ok := groups.Controller(controller)
	if !ok {
		in, ok = groups.Unified()
	}
	return ok && (in == group || group == "/" || strings.HasPrefix(in, group+"/"))
}

// wholeOf is whose tasks setpriority(2) and ioprio_set(2) mean with a number that is none of a task.
type wholeOf struct {
	user bool // else a process group
	id   uint32
}

func (w wholeOf) has(fs procfs.FS, id kernel.TID) bool {
	if w.user {
		st, err := fs.Status(id)
		return err == nil && st.UID == w.id
	}
	st, err := fs.Stat(id)
	return err == nil && uint32(st.Group) == w.id
}

// Concerns reports whether a setting is of what a change set, or decides over it: the cpuset of its
// task, or the group that the task is in.
func (s *Setting) Concerns(fs procfs.FS, c *attr.Change) bool {
	group := s.Of.Group()
	switch {
	case s.Attribute == Cpuset:
		return c.Attribute == attr.Affinity && !c.IsFile() && within(fs, c.PID, "cpuset", group)
	case s.Attribute == Cgroup:
		return c.Attribute == attr.Affinity && c.PID == s.Of.PID
	case s.Attribute != c.Attribute:
		return false
	case s.Whole != "":
		return s.whole.has(fs, c.PID)
	case group != "":
		return group == c.Group()
	}
	return s.Of.TID == c.TID && s.Of.StartTicks == c.StartTicks
}
