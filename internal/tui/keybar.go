package tui

import (
	"strings"

	"piton/internal/action"
	"piton/internal/tui/widget"
)

// barOrder is the verbs of the key bar, the ones that matter most first: what
// does not fit is left out from the end. Quit always stands last.
var barOrder = map[action.Context][]string{
	action.Processes: {"app.help", "find.search", "find.filter", "show.tree", "sort.menu", "tune.pin", "tune.affinity",
		"tune.policy", "tune.undo", "tune.nice.lower", "tune.nice.raise", "view.bench", "tune.signal", "app.setup",
		"tune.place", "tune.grab", "panel.focus", "show.detail", "tune.ioprio"},
	// The views of cores and interrupts name their own keys.
	action.Cores:   {"app.help", "tune.undo", "view.bench", "app.setup"},
	action.IRQs:    {"app.help", "irqs.filter", "irqs.sort", "irqs.affinity", "irqs.place", "irqs.grab", "irqs.spread", "irqs.reset", "irqs.queue", "tune.undo", "panel.focus", "app.setup"},
	action.Bench:   {"app.help", "bench.new", "bench.paper", "bench.picture", "bench.write", "bench.cancel", "app.setup"},
	action.Panel:   {"app.help", "panel.enter", "panel.spread", "panel.tick", "panel.wider", "panel.narrower", "panel.allowed", "panel.isolate", "panel.include", "tune.undo"},
	action.Threads: {"threads.sort", "threads.leave", "show.trace", "show.files", "app.help"},
	action.Journal: {"app.help", "journal.undo", "journal.all", "view.bench", "app.setup"},
}

const barLast = "app.quit"

// barItem is a verb as the key bar shows it.
type barItem struct {
	verb  *verb
	key   string
	label string
	x, w  int
}

// barItems lays the key bar out.
func (m *Model) barItems(width int) []barItem {
	last, _ := m.barItem(barLast)
	room := width - last.w
	items := make([]barItem, 0, 16)
	x := 0
	for _, id := range barOrder[m.context()] {
		it, ok := m.barItem(id)
		if !ok { // not in read-only mode
			continue
		}
		if x+it.w > room {
			break
		}
		it.x = x
		x += it.w
		items = append(items, it)
	}
	if last.w <= width {
		last.x = x
		items = append(items, last)
	}
	return items
}

// barItem is the verb with its first key: "F1Help", "p Pin".
func (m *Model) barItem(id string) (barItem, bool) {
	v := m.verbs.byID(id)
	if v == nil || len(v.Keys) == 0 {
		return barItem{}, false
	}
	key, _, _ := strings.Cut(v.Label, " ")
	label := v.Short
	if len(key) == 1 {
		label = " " + label
	}
	return barItem{verb: v, key: key, label: label, w: widget.Width(key) + widget.Width(label) + 1}, true
}

// keyBar is the last line: what the keys do here. Verbs that cannot be used now
// are faint; their key says why.
func (m *Model) keyBar(width int) string {
	th, state := m.th, m.state()
	line, used := make([]byte, 0, width*4), 0
	for _, it := range m.barItems(width) {
		style := th.KeyLabel
		if it.verb.Why(state) != "" {
			style = th.KeyOff
		}
		line = append(style.Append(th.Key.Append(line, it.key), it.label), ' ')
		used = it.x + it.w
	}
	return string(widget.AppendSpaces(line, width-used))
}

// barAt is the verb of the key bar at a column; nil when there is none.
func (m *Model) barAt(x, width int) *verb {
	for _, it := range m.barItems(width) {
		if x >= it.x && x < it.x+it.w-1 {
			return it.verb
		}
	}
	return nil
}
