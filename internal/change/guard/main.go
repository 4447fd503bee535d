package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"piton/internal/change"
	"piton/internal/change/journal"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// The descriptors of the socket on which a guard hears of those who started it, and
// of its page.
const (
	connFD = 3
	pageFD = 4
)

// Main is the life of a guard process. It returns when the change has been
// confirmed, undone or reverted, or will not be made.
func Main() error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE)
	if err := kernel.CloseInherited(pageFD); err != nil { // somebody may wait for the end of a pipe
		return err
	}
	conn, file := kernel.Inherited(connFD), kernel.Inherited(pageFD)
	if conn == nil || file == nil {
		return fmt.Errorf("a guard is started by piton itself, for --revert-after")
	}
	path, err := kernel.ReadLink(fmt.Sprintf("/proc/self/fd/%d", pageFD))
	if err != nil {
		return err
	}
	p, err := mapPage(file, path)
	if err != nil {
		return err
	}
	s, err := prepare(conn, p)
	answer := ready{}
	if err != nil {
		answer.Error = err.Error()
	} else {
		answer.Caveats = s.caveats
	}
	b, jsonErr := json.Marshal(answer)
	if jsonErr != nil {
		return jsonErr
	}
	defer runtime.KeepAlive(conn) // or its descriptor would be closed
	if writeErr := kernel.WriteSocket(connFD, append(b, '\n')); err != nil || writeErr != nil {
		return errors.Join(err, writeErr) // whoever wanted it has changed nothing
	}
	s.watch()
	p.remove()
	return nil
}

// prepare makes the process fit for its task, and reads what that is.
func prepare(conn *os.File, p *page) (*sentry, error) {
	var o order
	if err := kernel.SetBlocking(int(conn.Fd())); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n') // no more is sent before the answer
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("no order came: %w", err)
	}
	self, err := procfs.New("/").Stat(kernel.TID(os.Getpid()))
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(o.Journal)
	if err != nil {
		return nil, err
	}
	lock := journal.UserLock(kernel.EUID(), o.State)
	tuner := func(j *journal.Journal, command string) *change.Tuner {
		return change.New(change.Options{
			Writer: kernel.SystemWriter(), FileWriter: kernel.SystemFiles(), Journal: j, Lock: lock, User: o.User, Command: command,
		})
	}
	s := &sentry{
		page: p, born: self.StartTicks, parent: socket(connFD), clock: bootClock{},
		bare:   tuner(nil, "piton guard"),
		record: func(command string) *change.Tuner { return tuner(j, command) },
		newer:  Launcher{Dir: filepath.Dir(p.path), Journal: o.Journal}.newer(p),
	}
	s.caveats = append(settleIn("/"), s.rise()...)
	p.word(wordStart).Store(self.StartTicks)
	p.word(wordPID).Store(uint64(os.Getpid()))
	var text string
	for i, c := range s.caveats {
		if i > 0 {
			text += "\n"
		}
		text += c
	}
	p.setText(commandEnd, pageSize, text)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	go func() { <-end; s.terminated.Store(true) }()
	return s, nil
}

// rise puts the process above everything else, and keeps it there.
func (s *sentry) rise() []string {
	runtime.GOMAXPROCS(min(2, runtime.NumCPU()))
	spare()
	caveats := Overtake()
	s.rehearse()
	s.keepUp = keepUp // for threads that the Go runtime has started since
	keepUp()
	return caveats
}

// spareThreads is how many threads the Go runtime has ready: the two that it lets run
// Go code, one in a system call, and one for signals.
const spareThreads = 4

// spare makes the Go runtime start the threads that it will use, which it keeps. One
// that it starts later is ordinary until keepUp, and with it a processor of the Go
// scheduler, which the runtime gives it beforehand, waits for a CPU (startm in
// runtime/proc.go): two such threads stop the guard on a starved machine.
func spare() {
	var started sync.WaitGroup
	for range spareThreads {
		started.Go(func() { kernel.Sleep(step) }) // all at once, a thread each
	}
	started.Wait()
}

// newer returns what returns the entries after a page's whose guards have not decided.
func (l Launcher) newer(p *page) func() []uint64 {
	return func() []uint64 {
		armed, _ := l.List()
		var out []uint64
		for _, a := range armed {
			if a.Entry > p.word(wordEntry).Load() && !a.Lost {
				out = append(out, a.Entry)
			}
		}
		return out
	}
}

// socket is the connection to whoever started the guard.
type socket int

// await waits for bytes, for at most the given time; open is false when the other end
// is closed and everything was read.
func (s socket) await(most time.Duration) (data []byte, open bool) {
	ready, err := kernel.AwaitData(int(s), most)
	if err != nil || !ready {
		return nil, err == nil
	}
	buf := make([]byte, 64<<10)
	n, err := kernel.ReadSocket(int(s), buf)
	if err == syscall.EAGAIN || err == syscall.EINTR {
		return nil, true
	}
	return buf[:max(0, n)], err == nil && n > 0
}

func (s socket) answer(b byte) { _ = kernel.WriteSocket(int(s), []byte{b}) }

// bootClock is the machine's time, as a thread alone can keep it.
type bootClock struct{}

func (bootClock) Now() time.Duration    { return kernel.Boottime() }
func (bootClock) Sleep(d time.Duration) { kernel.Sleep(d) }
