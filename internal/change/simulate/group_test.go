package simulate

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	"piton/internal/change/attr"
	"piton/internal/change/attr/share"
	"piton/internal/kernel/kernelfake"
)

// group is a control group. One that is removed and made again is another with its path.
type group struct {
	world *world
	path  string // as /proc/PID/cgroup has it
	dir   string
	inode uint64
	born  int // the step
	timed int // that at which somebody last set its period
	gone  bool
	files map[string]string // what the kernel holds
	cells [2]cell           // of groupAttributes
}

// groupPaths are those that there can be. Processes with a cpuset are in the last, and stay there.
var groupPaths = []string{"/web", "/web/in", "/build", limitedGroup}

// groupAttributes are those of groups, with values that they are given.
var groupAttributes = [2]attr.Attribute{attr.Weight, attr.Quota}

var groupValues = [2][]attr.Value{
	values(share.ParseWeight, "100", "200", "idle", "33", "10000", "idle"),
	values(share.ParseQuota, "none", "20%", "20% burst 10ms", "50% burst 30ms", "5% burst 0s", "none burst 60ms", "150%", "10% burst 10ms", "none burst 0s"),
}

func values[V attr.Value](parse func(string) (V, error), texts ...string) (out []attr.Value) {
	for _, text := range texts {
		v, err := parse(text)
		if err != nil {
			panic(err)
		}
		out = append(out, v)
	}
	return out
}

// groupEvents can come in histories with groups.
var groupEvents = []event{
	{"a group is removed", 3, func(w *world) {
		if g := w.someGroup(false); g != nil {
			w.log("group %s (%d) is removed", g.path, g.inode)
			g.gone = true
			for _, t := range w.all {
				if t == t.leader && t.group() == g {
					w.join(t, nil)
				}
			}
		}
	}},
	{"a group is made", 4, func(w *world) {
		at := groupPaths[w.rng.IntN(len(groupPaths))]
		if w.groupAt(at) == nil {
			g := w.makeGroup(at)
			w.log("group %s (%d) is made", at, g.inode)
		}
	}},
	{"a process moves to a group", 3, func(w *world) {
		if t := w.some(func(t *task) bool { return t == t.leader && t.living() && !t.limited }); t != nil {
			w.join(t, w.someGroup(false))
		}
	}},
	{"somebody else sets a value of a group", 3, func(w *world) {
		g := w.someGroup(true)
		if g == nil {
			return
		}
		if i := w.rng.IntN(len(groupAttributes)); w.rng.IntN(4) > 0 {
			w.setGroup(&g.cells[i], groupValues[i][w.rng.IntN(len(groupValues[i]))])
		} else {
			w.setPeriod(g)
		}
	}},
}

// makeGroup makes one with the values that it begins with, or that somebody has set since.
func (w *world) makeGroup(at string) *group {
	w.inodes++
	g := &group{world: w, path: at, dir: path.Join("/sys/fs/cgroup/cpu", at), inode: w.inodes, born: w.steps}
	if w.fate.unified {
		g.dir = path.Join("/sys/fs/cgroup", at)
	}
	g.files = kernelfake.NewGroup(g.dir, w.fate.unified)
	w.groups = append(w.groups, g)
	for i, a := range groupAttributes {
		c := &g.cells[i]
		c.attribute, c.group, c.path = a, g, path.Join(g.dir, g.names(w.fate.unified, i)[0])
		c.value = g.value(w.fate.unified, i)
		if w.rng.IntN(2) == 0 {
			w.setGroup(c, groupValues[i][w.rng.IntN(len(groupValues[i]))])
		}
		c.base, c.had, c.writes, c.foreign, c.excused = c.value, []attr.Value{c.value}, nil, 0, ""
	}
	return g
}

// names are the files of a group's attribute.
func (g *group) names(unified bool, i int) []string {
	return [2]func(bool) []string{share.WeightFiles, share.QuotaFiles}[i](unified)
}

// value is that of an attribute, as its files have it.
func (g *group) value(unified bool, i int) (v attr.Value) {
	var texts []string
	for _, name := range g.names(unified, i) {
		texts = append(texts, g.files[path.Join(g.dir, name)])
	}
	var err error
	if i == 0 {
		v, err = share.WeightOf(unified, texts)
	} else {
		v, err = share.QuotaOf(unified, texts)
	}
	if err != nil {
		panic(err)
	}
	return v
}

// on is what a wish makes of a value that the group has, and how that is written; ok is false where
// the kernel takes none of it.
func (w *world) on(wish, has attr.Value) (to attr.Value, steps []share.Write, ok bool) {
	var err error
	switch v := wish.(type) {
	case share.Weight:
		v, err = v.On(w.fate.unified, has.(share.Weight))
		to, steps = v, v.Writes(w.fate.unified, has.(share.Weight))
	case share.Quota:
		v, err = v.On(w.fate.unified, has.(share.Quota))
		to, steps = v, v.Writes(w.fate.unified, has.(share.Quota))
	}
	return to, steps, err == nil
}

// setGroup is somebody else who sets a value.
func (w *world) setGroup(c *cell, wish attr.Value) {
	to, steps, ok := w.on(wish, c.value)
	if !ok || same(to, c.value) {
		return
	}
	for _, s := range steps {
		if _, err := kernelfake.StoreGroup(c.group.files, path.Join(c.group.dir, s.File), s.Text+"\n"); err != nil {
			panic(err)
		}
	}
	w.set(c, to, nil)
}

// setPeriod is somebody else who sets the period of the quota.
func (w *world) setPeriod(g *group) {
	c := &g.cells[1]
	us := []string{"50000", "100000", "20000"}[w.rng.IntN(3)]
	g.timed = w.steps
	if file := path.Join(g.dir, "cpu.cfs_period_us"); !w.fate.unified {
		g.files[file] = us + "\n"
	} else {
		file = path.Join(g.dir, "cpu.max")
		g.files[file] = strings.Fields(g.files[file])[0] + " " + us + "\n"
	}
	if v := g.value(w.fate.unified, 1); !same(v, c.value) {
		w.set(c, v, nil)
	}
}

// groupAt is the group at a path, nil if there is none.
func (w *world) groupAt(at string) *group {
	for _, g := range w.groups {
		if g.path == at && !g.gone {
			return g
		}
	}
	return nil
}

// groupOf is the group that a file is of.
func (w *world) groupOf(file string) *group {
	for _, g := range w.groups {
		if g.dir == path.Dir(file) && !g.gone {
			return g
		}
	}
	return nil
}

// someGroup chooses a group, nil if there is none; limited: perhaps that with a cpuset.
func (w *world) someGroup(limited bool) *group {
	var there []*group
	for _, g := range w.groups {
		if !g.gone && (limited || g.path != limitedGroup) {
			there = append(there, g)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return there[w.rng.IntN(len(there))]
}

// join moves a process to a group; nil is the root.
func (w *world) join(t *task, g *group) {
	if t.group() == g {
		return
	}
	w.log("process %s moves to %s", t, g)
	t.groups = append(t.groups, g)
}

func (g *group) String() string {
	if g == nil {
		return "/"
	}
	return fmt.Sprintf("%s (%d)", g.path, g.inode)
}

// group is where the process of the task is, nil for the root.
func (t *task) group() *group {
	if len(t.leader.groups) == 0 {
		return nil
	}
	return t.leader.groups[len(t.leader.groups)-1]
}

// Inode is the Inode of the process's attr.Sources.
func (v view) Inode(dir string) (uint64, error) {
	if !v.step() {
		return 0, syscall.EINTR
	}
	for _, g := range v.groups {
		if g.dir == dir && !g.gone {
			v.meant = g
			return g.inode, nil
		}
	}
	v.meant = nil
	return 0, syscall.ENOENT
}

// store is a write to a file of a group.
func (v view) store(g *group, file, text string) error {
	if _, err := kernelfake.StoreGroup(g.files, file, text); err != nil {
		return err
	}
	for i := range g.cells {
		c, now := &g.cells[i], g.value(v.fate.unified, i)
		switch {
		case !slices.Contains(g.names(v.fate.unified, i), path.Base(file)):
		case v.meant != g || g.timed > v.looked: // nobody can keep that from happening
			v.set(c, now, nil)
			c.ours = true // as far as anybody can see
			c.excuse("it, or its period, came in the place of another between the check and the write")
		default:
			v.write(c, now)
		}
	}
	return nil
}

// halfway reports whether a value is what a write of several leaves on the way between two others.
func (c *cell) halfway(from, to []attr.Value, v attr.Value) bool {
	return c.group != nil && slices.ContainsFunc(from, func(x attr.Value) bool {
		return slices.ContainsFunc(to, func(y attr.Value) bool { return c.attribute.Halfway(x, y, v) })
	})
}

// partWay reports whether a value is on the way to what was asked for, or back from there after a write that failed.
func (a *actor) partWay(c *cell, v attr.Value) bool {
	if last, ok := c.lastBy(a); ok && same(last.old, v) {
		return c.group != nil
	}
	return c.group != nil && slices.ContainsFunc(a.wishes, func(w wish) bool { return w.covers(a.piton, c) && w.wantsGroup(c, v, true) })
}

// wantsGroup reports whether a value is what the wish makes of a group, or with part what there is
// on the way there.
func (w wish) wantsGroup(c *cell, v attr.Value, part bool) bool {
	var asked attr.Value
	if w.file != nil {
		asked = w.file.Value
	}
	for _, s := range w.set {
		if s.Attribute == c.attribute {
			asked = s.Value
		}
	}
	var to []attr.Value
	for _, has := range c.had {
		if on, _, ok := c.group.world.on(asked, has); ok {
			to = append(to, on)
		}
	}
	return slices.ContainsFunc(to, func(o attr.Value) bool { return same(o, v) }) || part && c.halfway(c.had, to, v)
}
