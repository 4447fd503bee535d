package demo

import (
	"fmt"

	"piton/internal/kernel"
	"piton/internal/taskfacts"
	"piton/internal/tui/detail"
)

// inspector reads one process for the detail pane.
type inspector struct{ *Machine }

// Read is part of tui.Inspector.
func (in inspector) Read(pid kernel.TID) detail.Reading {
	r := detail.Reading{PID: pid, At: in.clock()}
	in.mu.Lock()
	t, err := in.find(pid)
	if err == nil {
		for _, t := range t.leader.threads {
			one := t.Task
			one.TGID = 0 // the first one's row, too, is that thread's alone
			r.Threads = append(r.Threads, &one)
		}
		r.Total = len(r.Threads)
	}
	in.mu.Unlock()
	return r.Confined(err, in.proc, in.tuner)
}

// Facts is part of tui.Inspector: those who serve have connections, all have a log.
func (in inspector) Facts(pid kernel.TID) taskfacts.Facts {
	in.mu.Lock()
	defer in.mu.Unlock()
	f := taskfacts.Facts{PID: pid}
	t, err := in.find(pid)
	if err != nil {
		f.Exe.Why, f.Cwd.Why, f.IO.Why, f.Files.Why, f.Sockets.Why = "ended", "ended", "ended", "ended", "ended"
		return f
	}
	if f.Exe.Value = t.ID.Exe; f.Exe.Value == "" {
		f.Exe.Why = "it has none"
	}
	f.Cwd.Value = "/"
	done := t.leader.sum.run / 1000
	f.IO.Value = taskfacts.IO{Read: done * 3, Written: done, DiskRead: done / 7, DiskWritten: done / 9}
	f.Files.Value = []taskfacts.File{{FD: 0, Path: "/dev/null"}, {FD: 1, Path: "/var/log/" + t.ID.User + ".log"}}
	if t.ID.User != "www-data" && t.ID.User != "postgres" {
		return f
	}
	for i := range 4 {
		f.Files.Value = append(f.Files.Value, taskfacts.File{FD: 3 + i, Path: fmt.Sprintf("socket:[%d]", 90_000+int(pid)*8+i)})
		f.Sockets.Value = append(f.Sockets.Value, taskfacts.Socket{FD: 3 + i, Kind: "tcp", State: "ESTABLISHED", Local: "10.0.0.7:443",
			Remote: fmt.Sprintf("10.0.%d.%d:%d", i, int(pid)%250, 41_000+int(pid)+i), IncomingCPU: int(in.lines[3+i%2].cpu)})
	}
	return f
}

// Environ is part of tui.Inspector.
func (in inspector) Environ(pid kernel.TID) ([]string, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	t, err := in.find(pid)
	if err != nil {
		return nil, err
	}
	return []string{"HOME=/home/" + t.ID.User, "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin", "USER=" + t.ID.User}, nil
}
