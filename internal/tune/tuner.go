package tune

import (
	"errors"
	"sync"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Processes is what the tuner reads of /proc; procfs.FS is the real one.
type Processes interface {
	Live() bool
	Root() string
	File(elem ...string) ([]byte, error)
	Processes() ([]kernel.TID, error)
	Threads(pid kernel.TID) ([]kernel.TID, error)
	Stat(pid kernel.TID) (procfs.Stat, error)
	ThreadStat(pid, tid kernel.TID) (procfs.Stat, error)
	Status(tid kernel.TID) (procfs.Status, error)
	Schedstat(pid, tid kernel.TID) (procfs.Schedstat, error)
	Cgroup(pid kernel.TID) (procfs.Cgroups, error)
	Autogroup(pid kernel.TID) (name string, nice int, err error)
	Sysctl(name string) (int64, error)
}

// Options are what a Tuner works with.
type Options struct {
	Sched   kernel.Scheduler // nil = kernel.System()
	Files   kernel.Files     // nil = kernel.SystemFiles()
	Proc    Processes        // nil = this machine's /proc
	Journal *Journal         // nil = nothing is recorded and nothing can be undone
	User    string           // for the journal: "root", "balu (sudo)"
	Command string           // for the journal: argv, or the key's action
	EUID    func() int       // nil = kernel.EUID
	// Rights returns what the caller may do; nil = kernel.UsableCapabilities.
	Rights func() (kernel.Capabilities, error)
	// Limits returns a task's limits; nil = kernel.ReadLimits.
	Limits func(kernel.TID) (kernel.Limits, error)
}

// Tuner plans, applies and undoes. Its methods may be called from several
// goroutines at once.
type Tuner struct {
	o       Options
	rights  func() kernel.Capabilities
	cookies *cookies
}

// New returns a Tuner.
func New(o Options) *Tuner {
	if o.Sched == nil {
		o.Sched = kernel.System()
	}
	if o.Files == nil {
		o.Files = kernel.SystemFiles()
	}
	if o.Proc == nil {
		o.Proc = procfs.New("/")
	}
	if o.Rights == nil {
		o.Rights = kernel.UsableCapabilities
	}
	if o.Limits == nil {
		o.Limits = kernel.ReadLimits
	}
	if o.EUID == nil {
		o.EUID = kernel.EUID
	}
	return &Tuner{o: o, cookies: &cookies{holders: map[uint64]kernel.TID{}}, rights: sync.OnceValue(func() kernel.Capabilities {
		caps, err := o.Rights()
		if err != nil {
			return 0 // the words then say what would be needed, which is safe
		}
		return caps
	})}
}

// ErrGone is what the error of a change is (errors.Is) when its task had ended.
var ErrGone = procfs.ErrGone

// ErrNotPermitted is what the error of a change is (errors.Is) when more rights,
// CAP_SYS_NICE as a rule, would have made it work.
var ErrNotPermitted = errors.New("not permitted")

// ErrNotLive is Plan's error for a Processes that is not this machine's.
var ErrNotLive = errors.New("tuning works on this machine only, not on a host root read from elsewhere")
