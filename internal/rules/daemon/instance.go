package daemon

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"piton/internal/kernel"
	"piton/internal/userfile"
)

// Instance is the file by which daemons know of each other: whoever holds its lock is the
// one that runs. There is one for each journal, since that is what is undone by.
type Instance struct{ path string }

// Holder is a daemon that runs.
type Holder struct {
	PID        kernel.TID
	startTicks uint64
	Command    string
}

// ErrNotRunning is Stop's error when there is nothing to stop.
var ErrNotRunning = errors.New("piton rules run does not run")

// stopWait bounds the wait for a daemon to end: it finishes the change that it makes.
const stopWait = 20 * time.Second

// NewInstance is that of the journal at a path.
func NewInstance(euid int, journal string) Instance {
	h := fnv.New64a()
	_, _ = h.Write([]byte(journal))
	return Instance{filepath.Join(userfile.RuntimeDir(euid, filepath.Dir(journal)), fmt.Sprintf("rules-%016x.lock", h.Sum64()))}
}

// Acquire makes this process the one that runs, until release or its end. The error names
// the one that runs already.
func (i Instance) Acquire(command string) (release func(), err error) {
	f, err := userfile.OpenState(i.path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	ok, err := kernel.TryLock(f)
	if ok && !i.names(f) { // the one before has removed it meanwhile
		_ = f.Close()
		return i.Acquire(command)
	}
	if err == nil && !ok {
		err = errors.New("piton rules run runs already")
		if h, readErr := readHolder(f); readErr == nil {
			err = fmt.Errorf("piton rules run runs already: process %d, %s; piton rules stop ends it", h.PID, h.Command)
		}
	}
	if err == nil {
		err = writeHolder(f, command)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		_ = os.Remove(i.path) // while nobody else can have the lock
		_ = f.Close()
	}, nil
}

// names reports whether the file is the one that the path leads to.
func (i Instance) names(f *os.File) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(i.path)
	return err == nil && os.SameFile(held, now)
}

func writeHolder(f *os.File, command string) error {
	self := kernel.TID(os.Getpid())
	start, _, err := kernel.StartTicks(self, self)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%d %d %.200s\n", self, start, command)
	}
	return err
}

func readHolder(f *os.File) (h Holder, err error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 400))
	if err != nil {
		return h, err
	}
	if _, err = fmt.Sscan(string(data), &h.PID, &h.startTicks); err != nil {
		return h, fmt.Errorf("%s does not say which process has it", f.Name())
	}
	parts := strings.SplitN(strings.TrimSpace(string(data)), " ", 3)
	h.Command = parts[len(parts)-1]
	return h, nil
}

// Stop ends the daemon that runs and waits until it has ended.
func (i Instance) Stop(ctx context.Context) (Holder, error) {
	f, err := userfile.OpenState(i.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, ErrNotRunning
	}
	if err != nil {
		return Holder{}, err
	}
	defer f.Close()
	if ok, err := kernel.TryLock(f); ok || err != nil {
		return Holder{}, errors.Join(err, ErrNotRunning)
	}
	h, err := readHolder(f)
	if err != nil {
		return h, err
	}
	if err := h.signal(syscall.SIGTERM, syscall.SIGCONT); err != nil { // it may be stopped
		return h, err
	}
	for end := time.Now().Add(stopWait); ; time.Sleep(5 * time.Millisecond) {
		ok, err := kernel.TryLock(f)
		switch {
		case ok || err != nil:
			return h, err
		case ctx.Err() != nil:
			return h, ctx.Err()
		case time.Now().After(end):
			return h, fmt.Errorf("process %d was asked to end, and has not within %v", h.PID, stopWait)
		}
	}
}

// signal reaches the holder and no other process that has got its number.
func (h Holder) signal(signals ...syscall.Signal) error {
	p, err := kernel.SystemWriter().Hold(h.PID, h.startTicks)
	if err != nil {
		return err
	}
	for _, sig := range signals {
		if err == nil {
			err = p.Signal(sig)
		}
	}
	return errors.Join(err, p.Close())
}
