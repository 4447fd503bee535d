package tune

import (
	"bytes"
	"os"
	"strconv"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

const (
	movedAtOnce = 4096    // pages of one call
	mostPages   = 1 << 22 // looked at: 16 GiB of ordinary ones
)

// divide brings a process's pages to the shares of the nodes that they had. Which
// of them was where is not known, so it takes any, from the start.
func (t *Tuner) divide(pid kernel.TID, all []procfs.NumaMap, now, want Pages) error {
	ends, err := t.ends(pid)
	if err != nil {
		return err
	}
	d := division{t: t, pid: pid, missing: map[int32]int64{}}
	total := now.total()
	for node := range now.Nodes().Or(want.Nodes()).All() {
		n := int(node)
		d.missing[int32(n)] = int64(want[n]*total/max(1, want.total())) - int64(now[n])
	}
	for _, m := range all {
		if err := d.mapping(m, ends[m.Start]); err != nil {
			return err
		}
	}
	return nil
}

// ends returns the end of each mapping by its start, from /proc/PID/maps.
func (t *Tuner) ends(pid kernel.TID) (map[uint64]uint64, error) {
	data, err := t.o.Proc.File(strconv.Itoa(int(pid)), "maps")
	if err != nil {
		return nil, err
	}
	out := map[uint64]uint64{}
	for line := range bytes.Lines(data) {
		span, _, _ := bytes.Cut(line, []byte(" "))
		low, high, _ := bytes.Cut(span, []byte("-"))
		start, err := strconv.ParseUint(string(low), 16, 64)
		if err != nil {
			continue
		}
		if end, err := strconv.ParseUint(string(high), 16, 64); err == nil {
			out[start] = end
		}
	}
	return out, nil
}

// division is one divide on its way.
type division struct {
	t       *Tuner
	pid     kernel.TID
	missing map[int32]int64 // pages by node; below 0 = it has too many
	looked  int
}

// gives reports whether the mapping has pages on a node that has too many.
func (d *division) gives(m procfs.NumaMap) bool {
	for _, p := range m.Pages {
		if d.missing[int32(p.Node)] < 0 {
			return true
		}
	}
	return false
}

func (d *division) mapping(m procfs.NumaMap, end uint64) error {
	size := max(uint64(os.Getpagesize()), m.PageKB*1024)
	for at := m.Start; at < end && d.looked < mostPages && d.gives(m); {
		var addrs []uint64
		for ; at < end && len(addrs) < movedAtOnce; at += size {
			addrs = append(addrs, at)
		}
		d.looked += len(addrs)
		if err := d.move(addrs, int64(size)/int64(os.Getpagesize())); err != nil {
			return err
		}
	}
	return nil
}

// move moves those of some pages that are on a node with too many to one with
// too few; each counts as so many ordinary pages.
func (d *division) move(addrs []uint64, weight int64) error {
	at, err := d.t.o.Sched.MovePages(d.pid, addrs, nil)
	if err != nil {
		return err
	}
	var chosen []uint64
	var nodes, from []int32
	for i, node := range at {
		to, ok := d.taker()
		if !ok {
			break
		}
		if node >= 0 && d.missing[node] < 0 {
			d.missing[node] += weight
			d.missing[to] -= weight
			chosen, nodes, from = append(chosen, addrs[i]), append(nodes, to), append(from, node)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	now, err := d.t.o.Sched.MovePages(d.pid, chosen, nodes)
	for i, to := range nodes {
		if err == nil && now[i] < 0 { // it stays: another process uses it too, or it is locked
			d.missing[to] += weight
			d.missing[from[i]] -= weight
		}
	}
	return err
}

// taker is the node that misses most.
func (d *division) taker() (node int32, ok bool) {
	most := int64(0)
	for n, missing := range d.missing {
		if missing > most || ok && missing == most && n < node {
			node, most, ok = n, missing, true
		}
	}
	return node, ok
}
