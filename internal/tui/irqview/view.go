// Package irqview is the view of the interrupts: how often each comes and on
// which CPU, where it is asked to go and where it goes, whether that can be
// changed, and the device, queue and task behind it.
//
// It changes nothing, and reads only when its owner asks for it; the owner also
// sends the lines that are tagged elsewhere. Start at View. The cursor, the tags and
// the order are list.List's.
package irqview

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/tui/list"
)

// Options is what the view works with.
type Options struct {
	// Read reads the interrupts with their rates since it was last called;
	// irq.Monitor's Table is the real one. It runs in a command.
	Read func() (irq.Table, error)
	// Process is the one whose flows are shown, 0 for none.
	Process func() (kernel.TID, string)
	// Ways says how packets get to CPUs, by a table that was read just now; nil: it is not
	// known. It runs in a command.
	Ways func(*irq.Table) WayOf
	// Actions says that the owner has keys by which lines are sent elsewhere.
	Actions bool
}

// View is the pane of the interrupts: a list of entries by their names.
type View struct {
	*list.List[string, entry]
	o       Options
	reading bool // a command is under way
	table   irq.Table
	read    bool // an answer has come
	err     error

	named  bool // lines without a number and softirqs are shown too
	filter string
	cpus   cpuset.Set   // only lines that go to one of these; empty: all
	asked  bool         // or that are asked to
	each   []cpuset.CPU // CPUs that have a column of their own
	flows  flows
}

// New returns the pane, sorted by rate.
func New(o Options) *View {
	v := &View{o: o, flows: newFlows()}
	v.List = list.New(entry.Name, "per_s", v.columns()...)
	v.TagOf = func(e entry) (string, bool) { return e.Name(), e.Named == nil } // others cannot be sent anywhere
	return v
}

// Open is called when the view is shown: it reads at once.
func (v *View) Open() tea.Cmd {
	v.follow()
	return v.Tick()
}

// Tick is to be called once a tick while the view is shown. Nothing is read
// while an earlier reading is under way.
func (v *View) Tick() tea.Cmd {
	if v.reading {
		return nil
	}
	v.reading = true
	look := v.flows.look(v.o.Ways)
	return func() tea.Msg {
		t, err := v.o.Read()
		ways := look(&t)
		return func() tea.Cmd {
			v.flows.ways = ways
			return v.take(t, err)
		}
	}
}

func (v *View) take(t irq.Table, err error) tea.Cmd {
	v.reading, v.read, v.err = false, true, err
	if err != nil {
		return nil
	}
	v.table = t
	v.KeepTags(len(t.Rows), func(i int) string { return entry{Row: &t.Rows[i]}.Name() })
	v.relist()
	return nil
}

func (v *View) relist() {
	numbered, named, softirqs := field.Interrupts(&v.table, v.filter, true)
	entries := slices.DeleteFunc(numbered, func(e entry) bool { return !v.reaches(e.Row) })
	if v.named && v.cpus.Empty() {
		entries = slices.Concat(entries, named, softirqs)
	}
	v.Load(entries, slices.ContainsFunc(v.table.Rows, func(r irq.Row) bool { return r.Rate.OK }))
}

func (v *View) reaches(r *irq.Row) bool {
	if v.cpus.Empty() {
		return true
	}
	mask := r.Effective
	if v.asked || !mask.OK {
		mask = r.Requested
	}
	return mask.OK && !mask.And(v.cpus).Empty()
}

// Filter is the words that shown lines hold.
func (v *View) Filter() string { return v.filter }

// SetFilter shows only lines that hold all words of the text (irq.Row.Match).
func (v *View) SetFilter(text string) {
	v.filter = text
	v.Restart()
	v.relist()
}

// Back shows all lines again; false when no filter hid any.
func (v *View) Back() bool {
	was := v.filter != ""
	if was {
		v.SetFilter("")
	}
	return was
}

// CPUs are those that shown lines go to, or are asked to; none: all.
func (v *View) CPUs() cpuset.Set { return v.cpus }

// SetCPUs shows only lines that go to one of these CPUs, or that are asked to;
// an empty set shows all.
func (v *View) SetCPUs(cpus cpuset.Set, asked bool) {
	v.cpus, v.asked = cpus, asked
	v.Restart()
	v.relist()
}

// ToggleNamed shows or hides the lines without a number and the softirqs.
func (v *View) ToggleNamed() {
	v.named = !v.named
	v.relist()
}

// Selected is the line under the cursor; nil where that has no number.
func (v *View) Selected() *irq.Row {
	if e, ok := v.List.Selected(); ok && e.Named == nil {
		return e.Row
	}
	return nil
}

// Tagged reports whether the line under the cursor is tagged.
func (v *View) Tagged() bool { return v.List.Tagged(v.At()) }

// Count is how many lines an action would act on.
func (v *View) Count() int { return len(v.Targets()) }

// Targets are the tagged lines that are shown, or the one under the cursor when
// none of them is.
func (v *View) Targets() []*irq.Row { return lines(v.List.Targets()) }

// TagsShown are the tagged lines that are on the list.
func (v *View) TagsShown() []*irq.Row { return lines(v.List.TagsShown()) }

// Shown are all lines that have a number and are on the list.
func (v *View) Shown() []*irq.Row { return lines(v.Rows()) }

// lines are the numbered ones among some entries.
func lines(entries []entry) (out []*irq.Row) {
	for _, e := range entries {
		if e.Named == nil {
			out = append(out, e.Row)
		}
	}
	return out
}

// Default is where lines go that are set up from now on.
func (v *View) Default() irq.Mask { return v.table.Default }
