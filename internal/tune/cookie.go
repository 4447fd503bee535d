package tune

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

// CookieSetting says which core-scheduling cookie tasks are to have: a new one of
// their own, that of a task, or, when it is zero, none.
type CookieSetting struct {
	New  bool
	From kernel.TID
}

const (
	cookieNew  = "new"
	cookieNone = "none"
	cookieFrom = "of " // and the tid, until prepare knows its cookie
)

// String is "new", "of 3641" or "none".
func (s CookieSetting) String() string {
	switch {
	case s.New:
		return cookieNew
	case s.From > 0:
		return cookieFrom + strconv.Itoa(int(s.From))
	}
	return cookieNone
}

func formatCookie(cookie uint64) string {
	if cookie == 0 {
		return cookieNone
	}
	return "0x" + strconv.FormatUint(cookie, 16)
}

func parseCookie(value string) (uint64, error) {
	if value == cookieNone {
		return 0, nil
	}
	cookie, err := strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
	if err != nil || cookie == 0 {
		return 0, usagef("%q is not a core-scheduling cookie", value)
	}
	return cookie, nil
}

func readCookie(t *Tuner, c Change) (string, error) {
	cookie, err := t.o.Sched.Cookie(c.TID)
	return formatCookie(cookie), err
}

// writeCookie shares the cookie of a task that has it: a cookie cannot be named.
func writeCookie(t *Tuner, c Change) error {
	cookie, err := parseCookie(c.After)
	if err != nil {
		return err
	}
	from, err := t.cookieHolder(cookie)
	if err != nil {
		return err
	}
	return t.o.Sched.ShareCookie(from, c.TID)
}

// cookieHolder finds a task that has the cookie: the one that holds a new cookie,
// piton itself, or any other.
func (t *Tuner) cookieHolder(cookie uint64) (kernel.TID, error) {
	t.cookies.mu.Lock()
	holder := t.cookies.holders[cookie]
	t.cookies.mu.Unlock()
	if holder > 0 {
		return holder, nil
	}
	pids, err := t.o.Proc.Processes()
	if err != nil {
		return 0, err
	}
	for _, pid := range append([]kernel.TID{kernel.TID(os.Getpid())}, pids...) {
		tids, err := t.o.Proc.Threads(pid)
		if err != nil {
			continue // gone
		}
		for _, tid := range tids {
			if has, err := t.o.Sched.Cookie(tid); err == nil && has == cookie {
				return tid, nil
			}
		}
	}
	return 0, fmt.Errorf("no task has the cookie %s any more, and it cannot be made again", formatCookie(cookie))
}

// cookie finds out the number of the cookie that is asked for. All tasks of one
// plan get the same new one.
func (p *planner) cookie(_ task, c *Change) {
	var cookie uint64
	var err error
	from, shared := strings.CutPrefix(c.After, cookieFrom)
	switch {
	case c.After == cookieNew:
		cookie, err = p.newCookie()
	case shared:
		tid, _ := strconv.ParseInt(from, 10, 32)
		cookie, err = p.t.o.Sched.Cookie(kernel.TID(tid))
		switch {
		case errors.Is(err, syscall.ESRCH):
			refuse(c, "there is no process or thread %d whose cookie could be shared", tid)
			return
		case err == nil && cookie == 0:
			refuse(c, "%d has no cookie to share", tid)
			return
		}
	}
	if err != nil {
		c.Status, c.Err, c.Reason = Refused, p.t.mark(err), p.t.explain(*c, err)
		return
	}
	c.After = formatCookie(cookie)
}

// cookies are those that this process has made, by a thread that has each.
type cookies struct {
	mu      sync.Mutex
	holders map[uint64]kernel.TID
}

func (p *planner) newCookie() (uint64, error) {
	if p.fresh != 0 {
		return p.fresh, nil
	}
	cookie, holder, err := p.t.o.Sched.NewCookie()
	if err != nil {
		return 0, err
	}
	p.t.cookies.mu.Lock()
	defer p.t.cookies.mu.Unlock()
	p.t.cookies.holders[cookie] = holder
	p.fresh = cookie
	return cookie, nil
}
