package dialog

import (
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"piton/internal/cpuset"
	"piton/internal/topology"
	"piton/internal/tui/rows"
)

// AffinityOptions is what the affinity editor starts from.
type AffinityOptions struct {
	Subject  string // "nqueens (3641), 4 threads"
	Topology *topology.Topology
	Current  cpuset.Set // the mask now; the union of several
	Mixed    bool       // the subject's threads have different masks
	// Allowed is what the subject's cpuset permits; empty when that is not known.
	Allowed     cpuset.Set
	Load        LoadMsg
	LeastLoaded cpuset.CPU // -1 when not known
	// Memory offers that the subject's pages move to the nodes of its CPUs.
	Memory bool
}

// LoadMsg is the busy share 0..1 of each CPU, for a dialog that shows it live.
type LoadMsg map[cpuset.CPU]float32

// Affinity edits the set of CPUs that the subject may run on; the value is a
// cpuset.Set, never empty and within what is online and allowed.
type Affinity struct {
	AffinityOptions
	usable cpuset.Set
	picked cpuset.Set
	tree   []branch
	shown  []int // indices in tree of the rows that are not folded away
	list   rows.Scroll
	typing *Form // a CPU list; nil while none is typed
	note   string
	// MemoryFollows: the subject's pages are to move as well.
	MemoryFollows bool
}

// NewAffinity starts with the present mask ticked.
func NewAffinity(o AffinityOptions) *Affinity {
	a := &Affinity{AffinityOptions: o, usable: o.Topology.Online, tree: newTree(o.Topology)}
	if !o.Allowed.Empty() {
		a.usable = a.usable.And(o.Allowed)
	}
	a.picked = o.Current.And(a.usable)
	a.shown = visible(a.tree)
	return a
}

// Title names the subject.
func (a *Affinity) Title() string { return "Affinity of " + a.Subject }

// Cursor is in the list of CPUs that is typed.
func (a *Affinity) Cursor() *tea.Cursor {
	if a.typing == nil {
		return nil
	}
	return a.typing.Cursor()
}

// Update ticks, folds, moves, and takes a new load.
func (a *Affinity) Update(msg tea.Msg) Outcome {
	if load, ok := msg.(LoadMsg); ok {
		a.Load = load
		return Outcome{}
	}
	if a.typing != nil {
		out := a.typing.Update(msg)
		if out.Done {
			a.typing = nil
		}
		if set, ok := out.Value.(cpuset.Set); ok {
			a.picked = set
		}
		return Outcome{}
	}
	if k, ok := msg.(tea.KeyPressMsg); ok {
		a.note = ""
		return a.key(k)
	}
	return Outcome{}
}

func (a *Affinity) key(k tea.KeyPressMsg) Outcome {
	switch k.String() {
	case "esc", "ctrl+c", "ctrl+g", "q":
		return canceled
	case "enter":
		return a.apply()
	case "space", "x":
		a.toggle()
	case "a":
		a.picked = a.usable
	case "n":
		a.picked = cpuset.Set{}
	case "i":
		a.picked = a.usable.AndNot(a.picked)
	case "m":
		a.MemoryFollows = a.Memory && !a.MemoryFollows
	case "l", "/":
		a.typeList()
	case "left", "h", "-":
		a.foldHere(true)
	case "right", "+":
		a.foldHere(false)
	default:
		a.list.Key(k, len(a.shown), true)
	}
	return Outcome{}
}

func (a *Affinity) apply() Outcome {
	if a.picked.Empty() {
		a.note = "tick at least one CPU: a task needs one"
		return Outcome{}
	}
	return answered(a.picked)
}

// toggle ticks all CPUs of the row, or none if all of them were.
func (a *Affinity) toggle() {
	b := a.tree[a.shown[a.list.Cursor]]
	can := b.cpus.And(a.usable)
	switch {
	case can.Empty():
		a.note = b.label + ": " + a.unusable(b.cpus.First())
	case can.SubsetOf(a.picked):
		a.picked = a.picked.AndNot(can)
	default:
		a.picked = a.picked.Or(can)
	}
}

func (a *Affinity) unusable(cpu cpuset.CPU) string {
	switch {
	case !a.Topology.Online.Has(cpu):
		return "offline"
	case !a.usable.Has(cpu):
		return "outside the cpuset of the process"
	}
	return ""
}

// foldHere closes or opens the group under the cursor. Closing something that is
// closed, or a CPU, goes to the group around it.
func (a *Affinity) foldHere(closed bool) {
	at := a.shown[a.list.Cursor]
	if b := &a.tree[at]; b.leaf < 0 && b.folded != closed {
		b.folded = closed
		a.shown = visible(a.tree)
		return
	}
	if !closed {
		return
	}
	for i := a.list.Cursor - 1; i >= 0; i-- {
		if a.tree[a.shown[i]].depth < a.tree[at].depth {
			a.list.Cursor = i
			return
		}
	}
}

func (a *Affinity) typeList() {
	var set cpuset.Set
	list := Field{Kind: Text, Label: "CPUs", Room: 30, Help: "such as 5  0-3,8  0-14:2  node:1  llc:0  core:3  online,^0",
		Set: func(text string) (err error) { set, err = a.parse(text); return err }}
	a.typing = &Form{Fields: []Field{list}, Enter: "tick", Answer: func() (any, error) { return set, nil }}
}

func (a *Affinity) parse(text string) (cpuset.Set, error) {
	set, err := topology.ParseCPUs(text, a.Topology)
	beyond := set.AndNot(a.usable)
	switch {
	case err != nil:
		return set, err
	case !beyond.Empty():
		return set, fmt.Errorf("cpu %s: %s", beyond, a.unusable(beyond.First()))
	case set.Empty():
		return set, errors.New("the list is empty: a task needs at least one CPU")
	}
	return set, nil
}
