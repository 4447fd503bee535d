package journalview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/tui/theme"
	"piton/internal/tuitest/golden"
)

var plain = theme.New(theme.Options{})

// Golden frames show local times; they must be the same everywhere.
func init() { time.Local = time.UTC }

// fake is a journal and what has become of its entries.
type fake struct {
	entries []change.Entry
	damage  []journal.Damage
	err     error
	plans   map[uint64]change.Plan
	asked   []change.UndoRequest
}

func (f *fake) Entries() ([]change.Entry, []journal.Damage, error) { return f.entries, f.damage, f.err }

func (f *fake) PlanUndo(_ context.Context, q change.UndoRequest) (change.Plan, error) {
	p, ok := f.plans[q.IDs[0]]
	if !ok {
		return change.Plan{}, fmt.Errorf("there is no entry %d", q.IDs[0])
	}
	return p, nil
}

func (f *fake) view() *View {
	v := New(Options{Journal: f, Checker: f, Undo: func(q change.UndoRequest) tea.Cmd { f.asked = append(f.asked, q); return nil }})
	run(v.Open())
	return v
}

// run performs a command and those that follow from it.
func run(cmd tea.Cmd) {
	for cmd != nil {
		cmd = cmd().(func() tea.Cmd)()
	}
}

// press does what the keys of the action table do.
func press(v *View, keys string) {
	for key := range strings.FieldsSeq(keys) {
		switch key {
		case "down":
			v.Move(1)
		case "g":
			v.Home()
		case "left", "right":
			v.Scroll(map[string]int{"left": -1, "right": 1}[key])
		case "enter":
			v.ToggleParts()
		case "space":
			v.ToggleTag()
		case "U":
			v.Untag()
		case "z":
			run(v.Undo())
		case "A":
			run(v.UndoAll())
		case "r":
			run(v.Open())
		}
	}
}

func text(v *View, w, h int) string { return ansi.Strip(v.Render(w, h, plain)) }

func made(id uint64, threads int, c change.Change) change.Entry {
	e := change.Entry{ID: id, Time: time.Date(2026, 11, 20, 14, int(id), 0, 0, time.UTC), User: "root", Command: "pin by key",
		Reason: "least-loaded: cpu 5: 99 % of a CPU expected", Finished: true}
	for i := range threads {
		c.TID = c.PID + kernel.TID(i)
		e.Changes = append(e.Changes, c)
	}
	return e
}

func planOf(e change.Entry, edit func(i int, c *change.Change)) change.Plan {
	p := change.Plan{}
	for i, c := range e.Changes {
		c.Status = attr.Planned
		edit(i, &c)
		p.Changes = append(p.Changes, c)
	}
	return p
}

// sample has an entry in every state.
func sample() *fake {
	pin := change.Change{Object: attr.Object{PID: 3641, Comm: "nqueens"}, Attribute: attr.Affinity, Before: cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7), After: cpuset.Of(5), Status: attr.Done}
	nice := change.Change{Object: attr.Object{PID: 900, Comm: "backup"}, Attribute: attr.Nice, Before: attr.NiceValue(0), After: attr.NiceValue(10), Status: attr.Done}
	fifo := change.Change{Object: attr.Object{PID: 77, Comm: "jackd"}, Attribute: attr.Policy, Before: attr.PolicyValue{}, After: attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 10, ResetOnFork: true}, Status: attr.Done}
	f := &fake{plans: map[uint64]change.Plan{}, damage: []journal.Damage{{Line: 3, Why: "unexpected end of JSON input"}}}
	e := []change.Entry{made(1, 1, pin), made(2, 1, nice), made(3, 4, pin), made(4, 3, nice), made(5, 1, fifo), made(6, 1, fifo), made(7, 1, nice), made(8, 1, pin), made(9, 2, pin)}
	e[0].PastBoot, e[1].Undone = true, true
	e[1].UndoneBy = 6
	e[5].Undoes, e[5].Origin = []uint64{2}, journal.Origin{Kind: journal.ByGuard, Why: "it was not confirmed within 5s"}
	e[6].Changes[0].Status, e[6].Changes[0].Reason = attr.Failed, "more rights are needed: CAP_SYS_NICE"
	e[6].User = "balu (sudo)"
	e[8].Finished = false
	e[8].Changes[1].PID, e[8].Changes[1].TID, e[8].Changes[1].Before = 4000, 4000, cpuset.Of(0, 1, 2, 3)
	f.entries = e
	f.plans[3] = planOf(e[2], func(i int, c *change.Change) {
		if i == 3 {
			c.Status, c.Reason = attr.Refused, "somebody else has changed it since: piton left 5 and it is 0-7 now; left alone unless forced"
		}
	})
	f.plans[4] = planOf(e[3], func(_ int, c *change.Change) {
		c.Status, c.Err = attr.Unchanged, fmt.Errorf("%d: %w", c.TID, attr.ErrGone)
	})
	f.plans[5] = planOf(e[4], func(_ int, c *change.Change) {
		c.Status = attr.Refused
		c.Reason = "somebody else has changed it since"
	})
	f.plans[8] = planOf(e[7], func(_ int, c *change.Change) { c.Status = attr.Unchanged })
	f.plans[9] = planOf(e[8], func(int, *change.Change) {})
	return f
}

func TestStates(t *testing.T) {
	v := sample().view()
	got := map[uint64]string{}
	for _, d := range v.operations {
		got[d.ID] = d.State()
	}
	assert.Equal(t, map[uint64]string{1: "before this boot", 2: "undone by guard 14:06:00", 3: "3 of 4 in force",
		4: "task has ended", 5: "changed by someone else", 7: "nothing changed", 8: "undone", 9: "in force, interrupted"}, got)
	assert.Equal(t, uint64(9), v.Rows()[0].entry, "newest first")
	assert.Contains(t, text(v, 120, 30), "1/8  8 changes, 2 in force")
	assert.Contains(t, text(v, 120, 30), "journal line 3 is damaged")
}

func TestEntriesOfOtherNamespaces(t *testing.T) {
	f := sample()
	f.entries[8].Foreign = "PID"
	v := f.view()
	assert.Contains(t, text(v, 160, 30), "made in another PID namespace")
	assert.Contains(t, text(v, 160, 30), "8 changes, 1 in force")
}

func TestGuardsOfEntries(t *testing.T) {
	v := sample().view()
	for want, g := range map[string]history.GuardState{
		"in force, interrupted, reverted in 12 s unless kept": {Entry: 9, Left: 12900 * time.Millisecond},
		"in force, interrupted, reverted unless kept":         {Entry: 9, Left: history.LeftUnknown},
		"in force, interrupted, guard lost":                   {Entry: 9, Lost: true},
		"in force, interrupted, guard stopped":                {Entry: 9, Stopped: true, PID: 471},
	} {
		v.SetGuards([]history.GuardState{g})
		assert.Contains(t, text(v, 220, 30), want)
		assert.Contains(t, text(v, 220, 30), g.Words(), "what to do")
	}
	v.SetGuards(nil)
	assert.NotContains(t, text(v, 220, 30), "interrupted, ")
}

func TestUndoOneSomeAll(t *testing.T) {
	f := sample()
	v := f.view()
	press(v, "z down z")
	press(v, "g space down space z A U")
	assert.Equal(t, []change.UndoRequest{{IDs: []uint64{9}}, {IDs: []uint64{8}}, {IDs: []uint64{9, 7}}, {All: true}}, f.asked)
	press(v, "space")
	assert.Contains(t, text(v, 120, 30), "1 tagged")
	press(v, "U")
	assert.NotContains(t, text(v, 120, 30), "tagged")
}

func TestEntriesOpen(t *testing.T) {
	v := sample().view()
	press(v, "down down down down down enter")
	out := text(v, 200, 30)
	assert.Contains(t, out, "pin by key  least-loaded: cpu 5: 99 % of a CPU expected")
	assert.Contains(t, out, "somebody else has changed it since: piton left 5")
	press(v, "down down down z")
	assert.Equal(t, uint64(3), v.At().entry, "a change belongs to its entry")
	press(v, "left")
	assert.NotContains(t, text(v, 140, 30), "pin by key")
	press(v, "right right")
	assert.Contains(t, text(v, 140, 30), "pin by key")
}

func TestTheCursorStaysOnItsEntry(t *testing.T) {
	f := sample()
	v := f.view()
	press(v, "down down")
	f.entries = append(f.entries, made(10, 1, f.entries[0].Changes[0]))
	press(v, "r")
	assert.Equal(t, uint64(7), v.At().entry)
	assert.Nil(t, v.take(1, nil, nil, nil), "an answer to an earlier question")
	assert.Len(t, v.operations, 9)
}

func TestWithoutEntries(t *testing.T) {
	v := New(Options{})
	assert.Nil(t, v.Open())
	assert.Contains(t, text(v, 100, 5), "nothing is recorded")
	press(v, "enter space z")
	f := &fake{}
	v = New(Options{Journal: f, Checker: f})
	assert.Contains(t, text(v, 100, 5), "reading")
	assert.Contains(t, text(f.view(), 120, 5), "no changes yet")
	f.err = errors.New("journal /x: permission denied")
	assert.Contains(t, text(f.view(), 100, 5), "permission denied")
}

func TestLooks(t *testing.T) {
	v := sample().view()
	press(v, "down down down down down enter g space")
	for _, s := range []struct {
		name          string
		width, height int
	}{{"80x24", 80, 20}, {"120x40", 120, 34}, {"200x50", 200, 44}, {"20x5", 20, 3}} {
		golden.Check(t, s.name, v.Render(s.width, s.height, plain), s.width, s.height)
	}
	ascii := theme.New(theme.Options{ASCII: true})
	for w := 1; w < 60; w += 7 {
		for h := 1; h < 8; h++ {
			out := strings.Split(v.Render(w, h, ascii), "\n")
			assert.LessOrEqual(t, len(out), h)
			for _, l := range out {
				assert.LessOrEqual(t, ansi.StringWidth(l), w)
			}
		}
	}
	for _, r := range ansi.Strip(v.Render(140, 30, ascii)) {
		if r > 126 {
			t.Fatalf("%q on an ASCII terminal", r)
		}
	}
}

func TestFilesOfTheKernel(t *testing.T) {
	line := func(n string) change.Change {
		return change.Change{Object: attr.Object{Path: "/proc/irq/" + n + "/smp_affinity_list", Name: "irq " + n + " (eth0)"},
			Attribute: attr.IRQAffinity, Before: cpuset.Of(0, 1, 2, 3), After: cpuset.Of(2), Status: attr.Done}
	}
	e := change.Entry{ID: 1, User: "root", Finished: true, Changes: []change.Change{line("24"), line("25")}}
	f := &fake{entries: []change.Entry{e}, plans: map[uint64]change.Plan{1: planOf(e, func(i int, c *change.Change) {
		if i == 1 {
			c.Status, c.Reason = attr.Refused, "irqbalance was here"
		}
	})}}
	v := f.view()
	press(v, "enter")
	out := text(v, 120, 30)
	for _, part := range []string{"irq-affinity of 2 IRQs", "0-3 → 2", "1 of 2 in force", "irq 24 (eth0)", "irq 25 (eth0)", "irqbalance was here"} {
		assert.Contains(t, out, part)
	}
}
