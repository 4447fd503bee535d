package sample

import (
	"bytes"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/users"
)

// identities reads what seldom changes in a task's life.
type identities struct {
	fs    procfs.FS
	r     *procfs.Reader
	users *users.Names
	both  bool    // the real user is read, too
	exe   bool    // and the program's file, in samples
	last  program // the process read last: threads of one process mostly follow each other
}

// program is what all threads of a process share.
type program struct {
	seq              uint64
	tgid             kernel.TID
	cmdline, exe     string
	cgroup, cpuGroup string
}

// complete fills in an identity that has its Comm and that nobody else has seen
// yet; with full, the command line and cgroup too, and the program if that is asked for. What cannot be read
// stays empty: exe of others needs CAP_SYS_PTRACE, and a task may just have ended.
func (ids *identities) complete(id *Identity, t *Task, seq uint64, full bool) {
	ids.user(id, t)
	if !full {
		return
	}
	if ids.last.seq != seq || ids.last.tgid != t.TGID {
		ids.last = ids.program(t, seq, Parts{Command: true, Cgroup: true, Exe: ids.exe})
	}
	id.Full = true
	id.Cmdline, id.Exe, id.Cgroup, id.CPUGroup = ids.last.cmdline, ids.last.exe, ids.last.cgroup, ids.last.cpuGroup
}

func (ids *identities) user(id *Identity, t *Task) {
	switch {
	case ids.both:
		st, _ := ids.fs.ThreadStatus(t.TGID, t.thread()) // an odd line of it is another's
		if id.UID, id.TwoUsers = st.EUID, !st.HaveUID || st.UID != st.EUID; !st.HaveUID {
			id.UID = users.None
		}
	case t.Have&haveOwner == 0:
		id.UID = ids.owner(t)
	}
	if id.User = ""; id.UID != users.None {
		id.User = ids.users.Name(id.UID)
	}
}

func (ids *identities) program(t *Task, seq uint64, parts Parts) program {
	p := program{seq: seq, tgid: t.TGID}
	if parts.Command {
		if b, err := ids.r.Cmdline(t.TGID); err == nil {
			p.cmdline = joinArgs(b)
		}
	}
	if parts.Cgroup {
		if b, err := ids.r.Task(t.TGID, 0, "cgroup"); err == nil {
			if groups, err := procfs.ParseCgroup(b); err == nil {
				p.cgroup, p.cpuGroup = groups.Main(), groups.CPU()
				if p.cpuGroup == p.cgroup {
					p.cpuGroup = p.cgroup // one memory for both
				}
			}
		}
	}
	if parts.Exe && !t.IsKernel() {
		p.exe, _ = ids.fs.Exe(t.TGID)
	}
	return p
}

// refreshed returns the identity as it is now.
func (ids *identities) refreshed(t *Task, w *walk, full bool) *Identity {
	now := &Identity{Comm: t.ID.Comm, UID: t.ID.UID, seen: w.at, ran: t.RunNs, settled: true}
	ids.complete(now, t, w.seq, full)
	return now
}

// owner is the effective user of a task. A recorded tree belongs to whoever
// unpacked it, so there the status file says.
func (ids *identities) owner(t *Task) uint32 {
	if ids.fs.Live() {
		uid, _ := ids.r.Owner(t.TGID, t.thread()) // gone, if it fails
		return uid
	}
	if st, _ := ids.fs.ThreadStatus(t.TGID, t.thread()); st.HaveUID {
		return st.EUID
	}
	return users.None
}

// joinArgs makes one line of a cmdline file, whose arguments end in NUL.
func joinArgs(b []byte) string {
	b = bytes.TrimRight(b, "\x00 ")
	return string(bytes.ReplaceAll(b, []byte{0}, []byte{' '}))
}

// Parts are those of an Identity that cost a file each.
type Parts struct{ User, Command, Cgroup, Exe bool }

// AllParts are all of them, for a process of any name.
func AllParts(string) Parts { return Parts{true, true, true, true} }

// Processes reads single processes from /proc, as they are meant by an event and not as
// part of a sample. It is for one goroutine.
type Processes struct {
	r   *procfs.Reader
	ids identities
}

// NewProcesses opens the root's /proc.
func NewProcesses(root string) (*Processes, error) {
	fs := procfs.New(root)
	r, err := fs.NewReader()
	if err != nil {
		return nil, err
	}
	return &Processes{r: r, ids: identities{fs: fs, r: r, users: users.New(fs.Root()), both: true}}, nil
}

// Read returns the row of a process with its stat file's figures and its Identity, of which
// parts says, by its comm, what is to be read; nil if there is none. What cannot be read
// stays empty.
func (p *Processes) Read(pid kernel.TID, parts func(comm string) Parts) (*Task, error) {
	b, err := p.r.Task(pid, 0, "stat")
	if procfs.Gone(err) {
		return nil, nil
	}
	var st procfs.Stat
	if err == nil {
		err = procfs.ParseStat(b, &st)
	}
	if err != nil {
		return nil, err
	}
	t := &Task{TID: pid, TGID: pid}
	setStat(t, &st)
	p.identify(t, parts(t.ID.Comm))
	return t, nil
}

// Begun is the row of a process as an event names it, with the parts of its Identity. It says
// nothing of whether the process still runs.
func (p *Processes) Begun(pid kernel.TID, startTicks uint64, comm string, parts Parts) *Task {
	t := &Task{TID: pid, TGID: pid, StartTicks: startTicks, ID: &Identity{Comm: comm}}
	p.identify(t, parts)
	return t
}

// identify reads parts as they are now: the process may have become another program.
func (p *Processes) identify(t *Task, parts Parts) {
	t.ID.Full = parts == AllParts("")
	if parts.User {
		p.ids.user(t.ID, t)
	}
	if parts.User = false; parts != (Parts{}) {
		of := p.ids.program(t, 0, parts)
		t.ID.Cmdline, t.ID.Exe, t.ID.Cgroup = of.cmdline, of.exe, of.cgroup
	}
}

// Close closes what it has open.
func (p *Processes) Close() error { return p.r.Close() }
