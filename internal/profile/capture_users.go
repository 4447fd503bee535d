package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// process is a user process with what its threads have.
type process struct {
	leader *sample.Task
	base   shape // what most threads have
	worth  map[attr.Attribute]bool
	// apart are the threads whose name has other values than base.
	apart map[string]*named
	usual map[string]bool // the names of all others
}

// named are the threads of one name, in order.
type named struct {
	shapes []shape
	worth  map[attr.Attribute]bool
}

// users captures user tasks.
func (c *capturer) users() {
	processes := c.processes()
	covered := map[kernel.TID]bool{}
	for _, p := range processes {
		if covered[p.leader.TID] || !p.interesting() || !c.asked(p.leader) {
			continue
		}
		c.user(p, processes, covered)
	}
}

func (p *process) interesting() bool { return len(p.worth) > 0 || len(p.apart) > 0 }

// processes looks at every user process, the oldest first.
func (c *capturer) processes() []*process {
	threads := map[kernel.TID][]*sample.Task{}
	var out []*process
	for _, t := range c.s.Tasks {
		if t.ID == nil || t.TGID == c.s.Self || t.IsKernel() || t.Ended() {
			continue
		}
		threads[t.TGID] = append(threads[t.TGID], t)
		if t.IsProcess() {
			out = append(out, &process{leader: t})
		}
	}
	for _, p := range out {
		c.look(p, threads[p.leader.TID])
	}
	slices.SortStableFunc(out, func(a, b *process) int { return cmp.Compare(a.leader.StartTicks, b.leader.StartTicks) })
	return out
}

// look sorts a process's threads by what they have.
func (c *capturer) look(p *process, threads []*sample.Task) {
	shapes := make([]shape, len(threads))
	votes, at := map[string]int{}, map[string]int{}
	p.base, p.worth, p.apart = c.shapeOf(p.leader), map[attr.Attribute]bool{}, map[string]*named{}
	p.usual = map[string]bool{}
	best := 0
	for i, t := range threads {
		shapes[i] = c.shapeOf(t)
		key := fmt.Sprint(shapes[i])
		votes[key]++
		if _, ok := at[key]; !ok {
			at[key] = i
		}
	}
	for _, i := range slices.Sorted(maps.Values(at)) {
		if n := votes[fmt.Sprint(shapes[i])]; n > best {
			best, p.base = n, shapes[i]
		}
	}
	differs := map[string]bool{}
	for i, t := range threads {
		differs[t.ID.Comm] = differs[t.ID.Comm] || !maps.Equal(shapes[i], p.base)
	}
	for i, t := range threads {
		worth := c.worth(t, shapes[i])
		if !differs[t.ID.Comm] {
			p.usual[t.ID.Comm] = true
			maps.Copy(p.worth, worth)
			continue
		}
		n := p.apart[t.ID.Comm]
		if n == nil {
			n = &named{worth: map[attr.Attribute]bool{}}
			p.apart[t.ID.Comm] = n
		}
		n.shapes = append(n.shapes, shapes[i])
		maps.Copy(n.worth, worth)
		for a, text := range shapes[i] {
			if text != p.base[a] {
				n.worth[a] = true
			}
		}
	}
}

// agree reports whether one item, and its threads' items, can stand for all.
func agree(all []*process, but attr.Attribute) bool {
	for _, p := range all {
		if !sameBut(p.base, all[0].base, but) || len(p.apart) != len(all[0].apart) || !maps.Equal(p.usual, all[0].usual) && len(p.apart) > 0 {
			return false
		}
		for name, n := range p.apart {
			first := all[0].apart[name]
			if first == nil || !slices.EqualFunc(n.shapes, first.shapes, maps.Equal) {
				return false
			}
		}
	}
	return true
}

func sameBut(a, b shape, but attr.Attribute) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	delete(a, but)
	delete(b, but)
	return maps.Equal(a, b)
}

// matchers are the ways to name a process, from the shortest.
func (p *process) matchers() []Task {
	id := p.leader.ID
	name := Task{Name: nameOf(id.Comm)}
	out := []Task{name}
	command := name
	if id.Cmdline != "" {
		command.Command = exactly(id.Cmdline)
	}
	if strings.HasSuffix(id.Cgroup, ".service") {
		group := name
		group.Cgroup = escape(id.Cgroup)
		out = append(out, group)
	}
	out = append(out, command)
	if id.Cgroup != "" && id.Cgroup != "/" {
		command.Cgroup = escape(id.Cgroup)
		out = append(out, command)
	}
	return out
}

// user captures a process, and all that the same matchers mean: with the shortest
// matchers under which all have the same, else with those that mean the fewest and
// a list of CPUs for each.
func (c *capturer) user(p *process, all []*process, covered map[kernel.TID]bool) {
	var item Task
	var fewest []*process
	for _, matchers := range p.matchers() {
		meant := meantBy(matchers, all)
		if len(meant) > 0 && agree(meant, "") {
			c.write(matchers, meant, nil, covered)
			return
		}
		if len(meant) > 0 && (fewest == nil || len(meant) < len(fewest)) {
			item, fewest = matchers, meant
		}
	}
	if len(fewest) > 0 && agree(fewest, attr.Affinity) {
		var each []string
		for _, q := range fewest {
			each = append(each, q.base[attr.Affinity])
		}
		c.write(item, fewest, each, covered)
		return
	}
	for _, q := range fewest {
		covered[q.leader.TID] = true
	}
	c.note("%d processes %s differ and cannot be told apart by their names, command lines and cgroups; they are not saved", len(fewest), strconv.Quote(p.leader.ID.Comm))
}

func meantBy(item Task, all []*process) []*process {
	m, err := newMatcher(&item)
	if err != nil {
		return nil
	}
	var out []*process
	for _, p := range all {
		if m.process(p.leader) {
			out = append(out, p)
		}
	}
	return out
}

// write adds the items of processes that agree: one for all threads, and one for
// each name that has values of its own. Where threads of one name differ among
// themselves, the others are named one by one, so that those stay as they are.
func (c *capturer) write(item Task, meant []*process, each []string, covered map[kernel.TID]bool) {
	worth, first := map[attr.Attribute]bool{}, meant[0]
	for _, p := range meant {
		covered[p.leader.TID] = true
		maps.Copy(worth, p.worth)
	}
	apart := slices.Sorted(maps.Keys(first.apart))
	mixed := slices.DeleteFunc(slices.Clone(apart), func(name string) bool { return first.apart[name].alike() })
	for _, name := range mixed {
		c.note("threads %s of %s differ and cannot be told apart by their names; they are not saved", strconv.Quote(name), item.Name)
	}
	base := item
	base.set(first.base, worth)
	if each != nil {
		base.CPUs, base.CPUsEach = "", each
	}
	switch {
	case !base.sets():
	case len(mixed) == 0:
		c.p.Tasks = append(c.p.Tasks, base)
	case each != nil:
		c.note("processes %s have threads that cannot be told apart; they are not saved", item.Name)
	default:
		for _, name := range slices.Sorted(maps.Keys(first.usual)) {
			base.Thread = nameOf(name)
			c.p.Tasks = append(c.p.Tasks, base)
		}
	}
	for _, name := range apart {
		if n := first.apart[name]; n.alike() {
			item.Thread = nameOf(name)
			c.threads(item, n)
		}
	}
}

// alike reports whether threads of one name differ in their CPUs at most.
func (n *named) alike() bool {
	return !slices.ContainsFunc(n.shapes, func(s shape) bool { return !sameBut(s, n.shapes[0], attr.Affinity) })
}

// threads adds the item of a process's threads of one name.
func (c *capturer) threads(item Task, n *named) {
	item.set(n.shapes[0], n.worth)
	var each []string
	for _, s := range n.shapes {
		each = append(each, s[attr.Affinity])
	}
	if len(slices.Compact(slices.Clone(each))) > 1 {
		item.CPUs, item.CPUsEach = "", each
	}
	if item.sets() {
		c.p.Tasks = append(c.p.Tasks, item)
	}
}
