package attr

import (
	"cmp"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/kernel"
)

// These end every sentence about a missing capability.
const (
	howToGetRights = "run piton with sudo, or give it the right once (piton doctor says how)"
	howAsRoot      = "this root lacks it, as in a container: start the container with --cap-add "
)

// right is the capability's name without CAP_, and how to get it.
func (s *spec) right() (name, remedy string) {
	if s.needs == kernel.CapSysPtrace {
		return "SYS_PTRACE", "run piton with sudo"
	}
	return "SYS_NICE", howToGetRights
}

// missingRight is the end of a sentence whose subject takes the attribute's capability.
func (m *Machine) missingRight(s *spec, instead string) string {
	name, remedy := s.right()
	switch {
	case m.Has(cmp.Or(s.needs, kernel.CapSysNice)): // of a user namespace, where the kernel does not count it
		return " needs CAP_" + name + " in the initial user namespace" + instead + ": run piton outside this container"
	case m.EUID() == 0:
		remedy = howAsRoot + name
	}
	return " needs CAP_" + name + instead + ": " + remedy
}

// lacks reports whether the attribute's capability would have made the change possible.
func (m *Machine) lacks(s *spec, errno syscall.Errno) bool {
	return isPermission(errno) && !m.Has(cmp.Or(s.needs, kernel.CapSysNice))
}

func isPermission(errno syscall.Errno) bool { return errno == syscall.EPERM || errno == syscall.EACCES }

func errnoOf(err error) syscall.Errno {
	errno, _ := errors.AsType[syscall.Errno](err)
	return errno
}

// Mark makes the error of a change Is what it means: ErrGone, ErrNotSupported or
// ErrNotPermitted.
func (m *Machine) Mark(c Change, err error) error {
	s, errno := c.Attribute.spec(), errnoOf(err)
	switch {
	case err == nil || errors.Is(err, ErrGone) || errors.Is(err, ErrNotSupported):
		return err
	case errors.Is(err, syscall.ESRCH), c.IsFile() && errno == syscall.ENOENT:
		return markedError{err, ErrGone}
	case m.ask(s.absent, c, errno) != "", c.IsFile() && errno == syscall.EROFS:
		return markedError{err, ErrNotSupported}
	case c.IsFile() && isPermission(errno), m.lacks(s, errno):
		return markedError{err, ErrNotPermitted}
	}
	return err
}

// Explain says in the user's words why the kernel refused a change: what is
// the cause here, and what to do. Only this package reads errnos.
func (m *Machine) Explain(c Change, err error) string {
	s, errno := c.Attribute.spec(), errnoOf(err)
	if why := m.ask(s.absent, c, errno); why != "" {
		return why
	}
	if !c.IsFile() {
		switch {
		case errors.Is(err, syscall.ESRCH), errors.Is(err, ErrGone):
			return fmt.Sprintf("%d has ended", c.TID)
		case errno == syscall.ENOSYS:
			return "this kernel or container does not offer the call"
		case m.lacks(s, errno):
			if owner := m.otherOwner(c.PID); owner != "" {
				return fmt.Sprintf("%d belongs to %s; changing others' processes", c.PID, owner) + m.missingRight(s, "")
			}
		}
	}
	if why := cmp.Or(s.causes[errno], m.ask(s.explain, c, errno)); why != "" {
		return why
	}
	switch {
	case c.IsFile():
		return m.explainFile(c, err)
	case errno == syscall.EINVAL:
		return fmt.Sprintf("the kernel does not accept %s: %v", c.Attribute.Words(c.After), err)
	case isPermission(errno) && m.Barred(c) != nil:
		return m.Barred(c).Error()
	case m.lacks(s, errno):
		return c.Attribute.Words(c.After) + m.missingRight(s, "")
	case isPermission(errno):
		name, _ := s.right()
		return "CAP_" + name + " is held, yet the kernel refused: the process is outside this container's user namespace, " +
			"or a security module (SELinux, AppArmor, seccomp) forbids it"
	}
	return err.Error()
}

// ask is what an explaining function of a spec says, "" without one.
func (m *Machine) ask(explain func(*Machine, Change, syscall.Errno) string, c Change, errno syscall.Errno) string {
	if explain == nil {
		return ""
	}
	return explain(m, c, errno)
}

// lacking explains the errnos by which a kernel says that it is built without something.
func lacking(what string, errnos ...syscall.Errno) func(*Machine, Change, syscall.Errno) string {
	return func(_ *Machine, _ Change, errno syscall.Errno) string {
		if !slices.Contains(errnos, errno) {
			return ""
		}
		return "this kernel has no " + what
	}
}

// orLimit names the resource limit that would do instead; "" for none, or if it is not known.
func (m *Machine) orLimit(c Change, item string, least uint64) string {
	limits, err := m.Limits(c.TID)
	if err != nil || item == "" {
		return ""
	}
	return fmt.Sprintf(" (or a RLIMIT_%s of at least %d, it is %d; %q in /etc/security/limits.conf)", strings.ToUpper(item), least, limitOf(limits, item), item)
}

func limitOf(l kernel.Limits, item string) uint64 {
	if item == limitRTPrio {
		return l.RTPrio
	}
	return l.Nice
}

// The limits that allow a change without CAP_SYS_NICE, as limits.conf(5) names them.
const (
	limitNice   = "nice"
	limitRTPrio = "rtprio"
)

// otherOwner is the name of the user of a process, "" if that is the caller or is not known.
func (m *Machine) otherOwner(pid kernel.TID) string {
	st, err := m.Proc.Status(pid)
	if me := uint32(m.EUID()); err != nil || st.UID == me || st.EUID == me {
		return ""
	}
	id := strconv.FormatUint(uint64(st.UID), 10)
	if owner, err := user.LookupId(id); err == nil {
		return owner.Username
	}
	return id
}

// RefuseFor refuses a change for an error of the kernel.
func (m *Machine) RefuseFor(c *Change, err error) {
	c.Status, c.Err, c.Reason = Refused, m.Mark(*c, err), m.Explain(*c, err)
}

// Prepare makes of what was asked for what this object is to get; the zero Task is for a
// file. It refuses what the kernel is known to refuse.
func (v *View) Prepare(k Task, c *Change) {
	if f := c.Attribute.spec().prepare; f != nil {
		f(v, k, c)
	}
	if c.Status != Planned {
		return
	}
	if c.Same() {
		c.Status = Unchanged
	} else if err := v.Barred(*c); errors.Is(err, ErrOneWay) { // else the kernel has the last word
		c.RefuseAs(err)
	}
}

// Risk warns of what a planned change does.
func (v *View) Risk(c Change) {
	if f := c.Attribute.spec().risk; f != nil {
		f(v, c)
	}
}

// Adjusted recognises that the kernel made now of the change's After on its own
// account, and says why in its Reason.
func (m *Machine) Adjusted(c *Change, now Value) bool {
	f := c.Attribute.spec().adjusted
	return f != nil && f(m, c, now)
}
