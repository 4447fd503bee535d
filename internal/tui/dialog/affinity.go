package dialog

import (
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
	note   string // why the last key did nothing
	typing bool   // a CPU list is being typed
	input  Input
	memory bool // the pages are to move as well
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

// MemoryFollows reports whether the subject's pages are to move as well.
func (a *Affinity) MemoryFollows() bool { return a.memory }

// Title names the subject.
func (a *Affinity) Title() string { return "Affinity of " + a.Subject }

// Cursor is in the CPU list while that is typed.
func (a *Affinity) Cursor() *tea.Cursor {
	if !a.typing {
		return nil
	}
	return tea.NewCursor(len(listLabel)+a.input.CursorX(), 0)
}

// Update ticks, folds, moves, and takes a new load.
func (a *Affinity) Update(msg tea.Msg) Outcome {
	if load, ok := msg.(LoadMsg); ok {
		a.Load = load
		return Outcome{}
	}
	if a.typing {
		return a.typed(msg)
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
		a.memory = a.Memory && !a.memory
	case "l", "/":
		a.typing, a.input = true, NewInput("")
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
		a.note = "tick at least one CPU: a task must be allowed to run somewhere"
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

// unusable says why a CPU cannot be ticked, "" when it can.
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

// typed handles the line in which a CPU list is typed.
func (a *Affinity) typed(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && (k.String() == "esc" || k.String() == "ctrl+c"):
		a.typing, a.note = false, ""
	case ok && k.String() == "enter":
		a.take(a.input.Value())
	case a.input.Update(msg):
		a.note = ""
	}
	return Outcome{}
}

// take ticks the CPUs of a typed list.
func (a *Affinity) take(text string) {
	set, err := topology.ParseCPUs(text, a.Topology)
	if err != nil {
		a.note = err.Error()
		return
	}
	if beyond := set.AndNot(a.usable); !beyond.Empty() {
		a.note = fmt.Sprintf("cpu %s: %s", beyond, a.unusable(beyond.First()))
		return
	}
	if set.Empty() {
		a.note = "that list is empty: a task must be allowed to run somewhere"
		return
	}
	a.picked, a.typing, a.note = set, false, ""
}
