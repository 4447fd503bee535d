package users

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"piton/internal/kernel"
)

// maxWait is how long directory services are waited for in any period, all questions together.
// That there is no such user is good for forget: a service may have been down, or start later.
const (
	maxWait = time.Second
	period  = time.Minute
	forget  = 10 * time.Minute
)

// notFound is getent's exit code for a key that the database does not have (getent(1)).
const notFound = 2

// directory is what getent knows: each user is asked for once, those who are not there again
// later. A nil one knows nobody.
type directory struct {
	ask func(ctx context.Context, key string) (line []byte, err error)
	now func() time.Time

	mu      sync.Mutex
	answers map[string]answer // by number or name
	since   time.Time         // of the period
	waited  time.Duration
}

// answer is a user, or that there was none at a time.
type answer struct {
	name  string
	uid   uint32
	found bool
	at    time.Time
}

func newDirectory(ask func(context.Context, string) ([]byte, error), now func() time.Time) *directory {
	return &directory{ask: ask, now: now, answers: map[string]answer{}}
}

// theDirectory is that of the running machine, for all of piton.
var theDirectory = newDirectory(getent, time.Now)

// name is the name of a user, "" for none or while it is not known.
func (d *directory) name(uid uint32) string {
	if d == nil {
		return ""
	}
	if a, known := d.look(strconv.FormatUint(uint64(uid), 10)); known && a.found && a.uid == uid {
		return a.name
	}
	return ""
}

// id is the number of a user; known is whether that, or that there is none, is the answer.
func (d *directory) id(name string) (uid uint32, ok, known bool) {
	if _, _, err := Parse(name); d == nil || err != nil || strings.ContainsAny(name[:1], "0123456789") {
		return 0, false, true // getent would take it for a flag or a number
	}
	a, known := d.look(name)
	return a.uid, a.found, known
}

// look is the answer for a number or a name, if there is one.
func (d *directory) look(key string) (a answer, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a, ok := d.answers[key]; ok && (a.found || d.now().Sub(a.at) < forget) {
		return a, true
	}
	a.name, a.uid, a.found, known = d.query(key)
	if a.at = d.now(); known {
		d.answers[key] = a
	}
	return a, known
}

// query asks, if there is time left in this period.
func (d *directory) query(key string) (name string, uid uint32, found, known bool) {
	begun := d.now()
	if begun.Sub(d.since) >= period {
		d.since, d.waited = begun, 0
	}
	left := maxWait - d.waited
	if left <= 0 {
		return "", 0, false, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), left)
	defer cancel()
	line, err := d.ask(ctx, key)
	d.waited += d.now().Sub(begun)
	switch {
	case errors.Is(err, errNobody):
		return "", 0, false, true
	case err != nil:
		d.waited = maxWait // another question would have no better answer now
		return "", 0, false, false
	}
	name, uid, found = parse(line)
	return name, uid, found, true
}

// errNobody is the error of a key that no service has.
var errNobody = errors.New("there is no such user")

// programs are where getent is: not by $PATH, which may be another user's after sudo.
var programs = []string{"/usr/bin/getent", "/bin/getent", "/run/current-system/sw/bin/getent"}

// getent asks name services for a user by a number or a name.
func getent(ctx context.Context, key string) ([]byte, error) {
	i := slices.IndexFunc(programs, func(path string) bool { _, err := os.Stat(path); return err == nil })
	if i < 0 || filesOnly() {
		return nil, errNobody
	}
	cmd := exec.CommandContext(ctx, programs[i], "passwd", key)
	cmd.WaitDelay = 100 * time.Millisecond // a service of its own may hold the pipe
	var out bytes.Buffer
	cmd.Stdout = &out
	err := kernel.Run(cmd)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == notFound {
		return nil, errNobody
	}
	line, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	return line, err
}

// filesOnly reports whether name services know nobody but those of /etc/passwd
// (nsswitch.conf(5)), so that there is nobody to ask.
func filesOnly() bool {
	text, err := os.ReadFile("/etc/nsswitch.conf")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		services, ok := strings.CutPrefix(strings.TrimSpace(line), "passwd:")
		if !ok {
			continue
		}
		services, _, _ = strings.Cut(services, "#")
		return !slices.ContainsFunc(strings.Fields(services), func(s string) bool { return s != "files" && s != "compat" })
	}
	return false
}
