package guard

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"piton/internal/change"
	"piton/internal/change/journal"
	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// connFD is the descriptor of the socket to the piton that started the guard.
const connFD = 3

// Main is the life of a guard process; args are the paths of its page and of the
// journal, and the user for the journal. It returns when the change has been confirmed,
// undone or reverted, or will not be made.
func Main(args []string) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE)
	if err := kernel.CloseInherited(connFD); err != nil { // another process may wait for the end of a pipe
		return err
	}
	conn := kernel.File(connFD, "piton")
	if conn == nil || len(args) != 3 {
		return errors.New("a guard is started by piton itself, for --revert-after")
	}
	defer runtime.KeepAlive(conn) // or its descriptor would be closed
	s, err := prepare(args[0], args[1], args[2])
	refusal := ""
	if err != nil {
		refusal = err.Error()
	}
	writeErr := kernel.WriteSocket(connFD, append([]byte(refusal), answerEnd))
	if err != nil || writeErr != nil {
		return errors.Join(err, writeErr) // nothing has been changed
	}
	s.watch()
	s.page.remove()
	Subside()
	return nil
}

// prepare makes the process fit for its task.
func prepare(pagePath, journalPath, user string) (*sentry, error) {
	p, err := openPage(pagePath, 0)
	if err != nil {
		return nil, err
	}
	self, err := procfs.New("/").Stat(kernel.TID(os.Getpid()))
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(journalPath)
	if err != nil {
		return nil, err
	}
	lock := journal.UserLock(kernel.EUID(), filepath.Dir(journalPath))
	tuner := func(j *journal.Journal, command string) *change.Tuner {
		return change.New(change.Options{
			Writer: kernel.SystemWriter(), FileWriter: kernel.SystemFiles(), Journal: j, Lock: lock, User: user, Command: command,
		})
	}
	s := &sentry{
		page: p, born: self.StartTicks, parent: socket(connFD),
		bare:   tuner(nil, "piton guard"),
		record: func(command string) *change.Tuner { return tuner(j, command) },
		newer:  Launcher{Dir: filepath.Dir(pagePath), Journal: journalPath}.newer(p),
	}
	s.caveats = append(settleIn(), s.rise()...)
	p.setText(commandEnd, pageSize, strings.Join(s.caveats, "\n"))
	p.word(wordStart).Store(self.StartTicks)
	p.word(wordPID).Store(uint64(os.Getpid()))
	end := make(chan os.Signal, 1)
	crash.Hold(end, syscall.SIGTERM)
	go func() { defer crash.Handle(); <-end; s.terminated.Store(true) }()
	return s, nil
}

// rise puts the process above everything else, and keeps it there.
func (s *sentry) rise() []string {
	runtime.GOMAXPROCS(min(2, runtime.NumCPU()))
	spare()
	caveats := Overtake()
	s.rehearse()
	s.keepUp = func() {
		keepUp() // for threads that the Go runtime has started since
		s.page.restore()
	}
	s.keepUp()
	return caveats
}

// spareThreads is how many threads the Go runtime has ready besides its own and the
// guard's. Measured with go1.26 on two CPUs: without any, 48 guards, half of them beside
// six spinning processes, were ready with 6 to 8 threads, and 14 of them got one more
// while they waited or reverted, up to 7. With 6 all 48 had 9 from the start to the end.
const spareThreads = 6

// spare makes the Go runtime start the threads that it will use, which it keeps. One
// that it starts later is ordinary until keepUp, and with it a processor of the Go
// scheduler, which the runtime gives it beforehand, waits for a CPU (startm in
// runtime/proc.go): two such threads stop the guard on a starved machine.
func spare() {
	var started, ended sync.WaitGroup
	started.Add(spareThreads)
	for range spareThreads {
		ended.Go(func() {
			defer crash.Handle()
			runtime.LockOSThread() // until all are there, a thread each
			started.Done()
			started.Wait()
			runtime.UnlockOSThread()
		})
	}
	ended.Wait()
}

// socket is the connection to the piton that started the guard.
type socket int

// Await waits for bytes, for at most the given time; open is false when the other end
// is closed and everything was read.
func (s socket) Await(most time.Duration) (data []byte, open bool) {
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

func (s socket) Answer(b byte) { _ = kernel.WriteSocket(int(s), []byte{b}) }

// processName is what ps shows for a guard, at most 15 bytes (TASK_COMM_LEN).
// It has nothing of piton's name, so that killing all pitons by name spares it.
const processName = "dead-man-switch"

// endedBySystemd begins the caveat of a guard that could not leave its session.
const endedBySystemd = "ended by systemd"

// settleIn makes the process hard to end by accident: with a name of its own, spared
// by the OOM killer, and out of a session that systemd may end.
func settleIn() (caveats []string) {
	_ = eachThread(func(tid kernel.TID) error { // a name only; later threads inherit it
		return os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", tid), []byte(processName), 0)
	})
	// -1000 is OOM_SCORE_ADJ_MIN (proc_pid_oom_score_adj(5)); it takes CAP_SYS_RESOURCE.
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0); err != nil {
		caveats = append(caveats, fmt.Sprintf("not protected from the OOM killer (needs CAP_SYS_RESOURCE): %v", err))
	}
	if err := leaveSession(); err != nil {
		caveats = append(caveats, fmt.Sprintf(endedBySystemd+" together with the session or service that started it "+
			"(KillUserProcesses=, KillMode=): %v", err))
	}
	return caveats
}

// initScope is the cgroup of systemd itself, the one that it never ends.
const initScope = "init.scope"

// leaveSession moves the process out of a cgroup that systemd may end, to the one
// that systemd is in. Without systemd (sd_booted(3)) there is nothing to leave.
func leaveSession() error {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return nil
	}
	groups, err := procfs.New("/").Cgroup(kernel.TID(os.Getpid()))
	if err != nil {
		return err
	}
	path, ok := groups.Controller("name=systemd")
	if !ok {
		path, _ = groups.Unified()
	}
	if path == "/" || strings.HasSuffix(path, initScope) {
		return nil
	}
	for _, mount := range []string{"", "systemd/"} { // of version 2, and of version 1
		err = os.WriteFile("/sys/fs/cgroup/"+mount+initScope+"/cgroup.procs", []byte(strconv.Itoa(os.Getpid())), 0)
		if err == nil {
			return nil
		}
	}
	return err
}
