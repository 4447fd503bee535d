package attr

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"syscall"

	"piton/internal/kernel"
)

// These end every sentence about a missing CAP_SYS_NICE.
const (
	howToGetRights = "run piton with sudo, or give it the right once (piton doctor says how)"
	howAsRoot      = "this root lacks it, as in a container: start the container with --cap-add SYS_NICE"
)

func (m *Machine) remedy() string {
	if m.EUID() == 0 {
		return howAsRoot
	}
	return howToGetRights
}

// Explain says in the user's words why the kernel refused a change: what is
// the cause here, and what to do. Only this package reads errnos.
func (m *Machine) Explain(c Change, err error) string {
	s := c.Attribute.spec()
	if s.absent != nil {
		if why := s.absent(m, c, err); why != "" {
			return why
		}
	}
	if !c.IsFile() {
		switch {
		case errors.Is(err, syscall.ESRCH) || errors.Is(err, ErrGone):
			return fmt.Sprintf("%d has ended", c.TID)
		case errors.Is(err, syscall.ENOSYS):
			return "this kernel or container does not offer the call"
		}
		if owner, ok := m.othersTask(c.PID); ok && isPermission(err) && !m.Has(kernel.CapSysNice) {
			return fmt.Sprintf("%d belongs to %s; changing others' processes needs CAP_SYS_NICE: %s", c.PID, owner, m.remedy())
		}
	}
	if s.explain != nil {
		if why := s.explain(m, c, err); why != "" {
			return why
		}
	}
	switch {
	case c.IsFile():
		return m.explainFile(c, err)
	case errors.Is(err, syscall.EINVAL):
		return fmt.Sprintf("the kernel does not accept %s: %v", c.Attribute.Words(c.After), err)
	case m.lacksRights(c, err):
		return fmt.Sprintf("%s needs CAP_SYS_NICE: %s", c.Attribute.Words(c.After), m.remedy())
	case isPermission(err):
		return "CAP_SYS_NICE is held, yet the kernel refused: the process is outside this container's user namespace, " +
			"or a security module (SELinux, AppArmor, seccomp) forbids it"
	}
	return err.Error()
}

func isPermission(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES)
}

// lacksRights reports whether CAP_SYS_NICE would have made the change possible.
func (m *Machine) lacksRights(_ Change, err error) bool {
	return isPermission(err) && !m.Has(kernel.CapSysNice)
}

// explainPtrace is for what looks into other processes.
func explainPtrace(m *Machine, c Change, err error) string {
	switch {
	case m.lacksRights(c, err):
		return fmt.Sprintf("the %s of %d needs CAP_SYS_PTRACE: run piton with sudo", c.Attribute, c.PID)
	case isPermission(err) && !m.Has(kernel.CapSysPtrace):
		return fmt.Sprintf("the %s of others' processes needs CAP_SYS_PTRACE as well", c.Attribute)
	}
	return ""
}

// orLimit names the resource limit that would do instead, when it is known.
func orLimit(err error, name string, needed, have uint64, item string) string {
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (or a %s of at least %d, it is %d; %q in /etc/security/limits.conf)", name, needed, have, item)
}

// othersTask returns the name of the user of a process that is not the caller's own.
func (m *Machine) othersTask(pid kernel.TID) (string, bool) {
	st, err := m.Proc.Status(pid)
	if err != nil {
		return "", false
	}
	if me := uint32(m.EUID()); st.UID == me || st.EUID == me {
		return "", false
	}
	id := strconv.FormatUint(uint64(st.UID), 10)
	if owner, err := user.LookupId(id); err == nil {
		return owner.Username, true
	}
	return id, true
}

// Prepare makes of what was asked for what this task is to get.
func (v *View) Prepare(k Task, c *Change) {
	if f := c.Attribute.spec().prepare; f != nil {
		f(v, k, c)
	}
	if c.Status == Planned && c.Same() {
		c.Status = Unchanged
	}
}

// Caution warns of what a planned change does.
func (v *View) Caution(c Change) {
	if f := c.Attribute.spec().caution; f != nil {
		f(v, c)
	}
}

// Adjusted recognises that the kernel made now of the change's After on its own
// account, and says why in its Reason.
func (m *Machine) Adjusted(c *Change, now Value) bool {
	f := c.Attribute.spec().adjusted
	return f != nil && f(m, c, now)
}
