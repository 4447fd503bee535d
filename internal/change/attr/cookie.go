package attr

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"piton/internal/kernel"
)

// CoreCookie is the core-scheduling cookie of a thread, a CookieValue
// (Documentation/admin-guide/hw-vuln/core-scheduling.rst).
const CoreCookie Attribute = "cookie"

// Cookie is the number of a cookie, 0 = none.
type Cookie uint64

// CookieValue is a cookie: "0x1f3a", "none". A wish may also be a new one for all
// tasks of the plan, "new", or that of a task, "of 3641".
type CookieValue struct {
	Cookie Cookie
	New    bool
	From   kernel.TID
}

const (
	cookieNew  = "new"
	cookieNone = "none"
	cookieFrom = "of "
)

var cookie = spec{
	parse: parseCookie,
	read: func(m *Machine, o Object) (Value, error) {
		c, err := m.Sched.Cookie(o.TID)
		return CookieValue{Cookie: Cookie(c)}, err
	},
	// A cookie cannot be named: it is shared from a task that has it.
	write: func(w Write) error {
		from, err := w.cookieHolder(w.Change.After.(CookieValue).Cookie)
		if err != nil {
			return err
		}
		return w.Task.ShareCookie(from)
	},
	prepare: prepareCookie,
	absent: func(_ *Machine, _ Change, err error) string {
		switch {
		case errors.Is(err, syscall.EINVAL):
			return "this kernel is built without core scheduling (CONFIG_SCHED_CORE)"
		case errors.Is(err, syscall.ENODEV):
			return "core scheduling is for machines with SMT, and this one has none or has it switched off"
		}
		return ""
	},
	explain: explainPtrace,
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
	return "0x" + strconv.FormatUint(uint64(c.Cookie), 16)
}

func parseCookie(text string) (Value, error) {
	from, shared := strings.CutPrefix(text, cookieFrom)
	switch {
	case text == cookieNone:
		return CookieValue{}, nil
	case text == cookieNew:
		return CookieValue{New: true}, nil
	case shared:
		tid, err := strconv.ParseInt(from, 10, 32)
		if err != nil || tid <= 0 {
			return nil, Usagef("cookie %q: %q is not the number of a task", text, from)
		}
		return CookieValue{From: kernel.TID(tid)}, nil
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil || number == 0 {
		return nil, Usagef("%q is not a core-scheduling cookie", text)
	}
	return CookieValue{Cookie: Cookie(number)}, nil
}

// prepareCookie finds out the number of the cookie that is asked for.
func prepareCookie(v *View, _ Task, c *Change) {
	want := c.After.(CookieValue)
	var number Cookie
	var err error
	switch {
	case want.New:
		number, err = v.newCookie()
	case want.From > 0:
		var n uint64
		n, err = v.Sched.Cookie(want.From)
		number = Cookie(n)
		switch {
		case errors.Is(err, syscall.ESRCH):
			c.Refuse("there is no process or thread %d whose cookie could be shared", want.From)
			return
		case err == nil && number == 0:
			c.Refuse("%d has no cookie to share", want.From)
			return
		}
	default:
		number = want.Cookie
	}
	if err != nil {
		c.Status, c.Err, c.Reason = Refused, v.Mark(*c, err), v.Explain(*c, err)
		return
	}
	c.After = CookieValue{Cookie: number}
}

// cookies are those that this process has made, by a thread that has each.
type cookies struct {
	mu      sync.Mutex
	holders map[Cookie]kernel.TID
}

// newCookie makes the cookie of the plan: all its tasks get the same.
func (v *View) newCookie() (Cookie, error) {
	if v.fresh != 0 {
		return v.fresh, nil
	}
	number, holder, err := v.Sched.NewCookie()
	if err != nil {
		return 0, err
	}
	v.cookies.mu.Lock()
	defer v.cookies.mu.Unlock()
	v.cookies.holders[Cookie(number)] = holder
	v.fresh = Cookie(number)
	return v.fresh, nil
}

// cookieHolder finds a task that has the cookie: the one that holds a new cookie,
// piton itself, or any other.
func (m *Machine) cookieHolder(c Cookie) (kernel.TID, error) {
	m.cookies.mu.Lock()
	holder := m.cookies.holders[c]
	m.cookies.mu.Unlock()
	if holder > 0 {
		return holder, nil
	}
	pids, err := m.Proc.Processes()
	if err != nil {
		return 0, err
	}
	for _, pid := range append([]kernel.TID{kernel.TID(os.Getpid())}, pids...) {
		tids, err := m.Proc.Threads(pid)
		if err != nil {
			continue // gone
		}
		for _, tid := range tids {
			if has, err := m.Sched.Cookie(tid); err == nil && Cookie(has) == c {
				return tid, nil
			}
		}
	}
	return 0, fmt.Errorf("no task has the cookie %s any more, and it cannot be made again", CookieValue{Cookie: c})
}
