package waits

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/why"
)

// softIRQs are the vectors of include/linux/interrupt.h, by number.
var softIRQs = [...]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// groups are the control groups of the cpu controller by the numbers that programs see, which are
// the inodes of their folders. Those that are gone since are kept.
type groups struct {
	mount procfs.CgroupMount
	paths map[uint64]string
}

func findGroups() (groups, error) {
	mount, err := procfs.New("/").CgroupMount("cpu")
	return groups{mount, map[uint64]string{}}, err
}

func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// id is the number of a group; path is from the root of the hierarchy.
func (g *groups) id(path string) (uint64, error) {
	info, err := os.Stat(g.mount.File(path, ""))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no control group %s", path)
	}
	if err != nil {
		return 0, err
	}
	return inode(info), nil
}

// path is the path of a group, from the root of the hierarchy; "" if it is gone.
func (g *groups) path(id uint64) string {
	if id == 0 {
		return ""
	}
	if _, known := g.paths[id]; !known {
		g.scan()
		g.paths[id] += "" // so that one that is gone is not looked for again
	}
	return g.paths[id]
}

func (g *groups) scan() {
	_ = filepath.WalkDir(g.mount.Point, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it is gone
		}
		if info, err := d.Info(); err == nil {
			below := strings.TrimPrefix(path, g.mount.Point)
			g.paths[inode(info)] = filepath.Join("/", g.mount.Root, below)
		}
		return nil
	})
}

// names turns what programs saw into what people know.
type names struct {
	groups *groups
	lines  map[uint32]string // of interrupts
}

func (n *names) by(k rowKey, name [16]byte) why.By {
	by := why.By{Cause: k.Cause, Group: n.groups.path(k.Group), Policy: k.Policy, Priority: int(k.Priority)}
	switch k.Interrupt {
	case hardInterrupt:
		by.Command = "irq " + n.line(k.ID)
	case softInterrupt:
		by.Command = "softirq " + softIRQ(k.ID)
	default:
		comm, _, _ := bytes.Cut(name[:], []byte{0})
		by.Command, by.PID = string(comm), kernel.TID(k.ID)
	}
	return by
}

func softIRQ(vector uint32) string {
	if int(vector) < len(softIRQs) {
		return softIRQs[vector]
	}
	return fmt.Sprint(vector)
}

// line is what an interrupt is called, its number where it has no name.
func (n *names) line(number uint32) string {
	if _, known := n.lines[number]; !known {
		if n.lines == nil {
			n.lines = map[uint32]string{}
		}
		name := irq.New("/").Name(int(number))
		if name == "" {
			name = fmt.Sprint(number)
		}
		n.lines[number] = name
	}
	return n.lines[number]
}

func (n *names) longest(l *longestWait) why.LongestWait {
	if l.Ns == 0 {
		return why.LongestWait{}
	}
	out := why.LongestWait{
		TID: l.TID, CPU: cpuset.CPU(l.CPU), Time: time.Duration(l.Ns),
		End: time.Now().Add(time.Duration(l.EndNs) - kernel.Monotonic()),
	}
	for _, p := range l.Parts[:min(l.Used, maxParts)] {
		out.Parts = append(out.Parts, why.Waited{By: n.by(p.Key, p.Name), Time: time.Duration(p.Ns), Waits: 1, Longest: time.Duration(p.Ns)})
	}
	for cause, ns := range l.Rest { // of more than there was room for
		if ns > 0 {
			out.Parts = append(out.Parts, why.Waited{By: why.By{Cause: why.Cause(cause)}, Time: time.Duration(ns), Waits: 1, Longest: time.Duration(ns)})
		}
	}
	why.SortWaited(out.Parts)
	return out
}
