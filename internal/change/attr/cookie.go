package attr

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/kernel"
)

// CoreCookie is the core-scheduling cookie of a thread, a CookieValue
// (Documentation/admin-guide/hw-vuln/core-scheduling.rst).
const CoreCookie Attribute = "cookie"

// CookieValue is a cookie: "0x1f3a", "none". A wish may also be a new one for all
// tasks of the plan, "new", or that of a task, "of 3641".
type CookieValue struct {
	Cookie uint64 // 0 = none
	New    bool
	From   kernel.TID
}

const (
	cookieNew  = "new"
	cookieNone = "none"
	cookieFrom = "of "
)

var cookie = spec{
	needs: kernel.CapSysPtrace, parse: parseCookie,
	read: reading(kernel.Scheduler.Cookie, func(c uint64) Value { return CookieValue{Cookie: c} }),
	// A cookie cannot be named: it is shared from a task that has it.
	write: func(w Write) error {
		from, err := w.cookieHolder(w.Change.After.(CookieValue).Cookie)
		if err != nil {
			return err
		}
		return w.Task.ShareCookie(from)
	},
	prepare: prepareCookie,
	absent: func(m *Machine, c Change, errno syscall.Errno) string {
		if errno == syscall.ENODEV {
			return "core scheduling is for machines with SMT, and this one has none or has it switched off"
		}
		return lacking("core scheduling (CONFIG_SCHED_CORE)", syscall.EINVAL)(m, c, errno)
	},
}

// SetCookie asks for a cookie.
func SetCookie(c CookieValue) Setting { return Setting{CoreCookie, c} }

func (c CookieValue) String() string {
	switch {
	case c.New:
		return cookieNew
	case c.From > 0:
		return cookieFrom + strconv.Itoa(int(c.From))
	case c.Cookie == 0:
		return cookieNone
	}
	return "0x" + strconv.FormatUint(c.Cookie, 16)
}

func parseCookie(text string) (Value, error) {
	from, shared := strings.CutPrefix(text, cookieFrom)
	switch {
	case text == cookieNone:
		return CookieValue{}, nil
	case text == cookieNew:
		return CookieValue{New: true}, nil
	case shared:
		tid, ok := kernel.ParseTID(from)
		if !ok {
			return nil, Usagef("cookie %q: %q is not the number of a task", text, from)
		}
		return CookieValue{From: tid}, nil
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil || number == 0 {
		return nil, Usagef("%q is not a core-scheduling cookie", text)
	}
	return CookieValue{Cookie: number}, nil
}

// prepareCookie finds out the number of the cookie that is asked for.
func prepareCookie(v *View, _ Task, c *Change) {
	want, err := c.After.(CookieValue), error(nil)
	switch {
	case want.New:
		want.Cookie, err = v.newCookie()
	case want.From > 0:
		want.Cookie, err = v.Sched.Cookie(want.From)
	}
	switch {
	case want.From > 0 && errors.Is(err, syscall.ESRCH):
		c.Refuse("there is no process or thread %d whose cookie could be shared", want.From)
	case err != nil:
		v.RefuseFor(c, err)
	case want.From > 0 && want.Cookie == 0:
		c.Refuse("%d has no cookie to share", want.From)
	default:
		c.After = CookieValue{Cookie: want.Cookie}
	}
}

// newCookie makes the cookie of the plan: all its tasks get the same.
func (v *View) newCookie() (uint64, error) {
	if v.fresh != 0 {
		return v.fresh, nil
	}
	number, holder, err := v.Sched.NewCookie()
	if err == nil {
		v.holders.Store(number, holder)
		v.fresh = number
	}
	return v.fresh, err
}

// cookieHolder finds a task that has the cookie: the thread that holds one that this
// process has made, piton itself, or any other.
func (m *Machine) cookieHolder(cookie uint64) (kernel.TID, error) {
	if holder, ok := m.holders.Load(cookie); ok {
		return holder.(kernel.TID), nil
	}
	pids, err := m.Proc.Processes()
	if err != nil {
		return 0, err
	}
	for _, pid := range append([]kernel.TID{kernel.TID(os.Getpid())}, pids...) {
		tids, _ := m.Proc.Threads(pid) // none: it has ended
		for _, tid := range tids {
			if has, err := m.Sched.Cookie(tid); err == nil && has == cookie {
				return tid, nil
			}
		}
	}
	return 0, fmt.Errorf("no task has the cookie %s any more, and it cannot be made again", CookieValue{Cookie: cookie})
}
