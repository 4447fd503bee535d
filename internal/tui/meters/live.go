package meters

import (
	"maps"
	"math"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Live is what no sample has, as read at one moment.
type Live struct {
	at       time.Time
	counters map[string]devices // by meter
	// By meter: its figures (bytes a second, °C, GHz); what is not known is missing.
	figures map[string][2]float64
	partial map[string]bool // the figure leaves something out
	faults  map[string]string
}

type devices map[string][2]float64

// of is what a meter shows.
func (l *Live) of(id string) (a, b float64) {
	if f, ok := l.figures[id]; ok {
		return f[0], f[1]
	}
	return math.NaN(), math.NaN()
}

// Faults says what could not be read, a sentence each.
func (l *Live) Faults() []string { return slices.Sorted(maps.Values(l.faults)) }

// reading is what a meter has read: counters of devices or a figure, and what is odd about it.
// The zero reading is unknown.
type reading struct {
	counters devices
	figure   [2]float64
	known    bool   // the figure
	partial  bool   // something was left out
	fault    string // the first
}

// Msg delivers what a command of Reader has read; it is given back to Take.
type Msg struct{ live *Live }

// Reader reads the files of these meters. Its commands run beside the screen, one at a time.
type Reader struct {
	root string
	live *Live
	said map[string]bool // that something is odd, by meter

	began time.Time // the last reading
	busy  bool
}

// NewReader reads of the host whose tree is below root.
func NewReader(root string) *Reader {
	return &Reader{root: root, live: &unknown, said: map[string]bool{}}
}

// every is the time between two readings. What they are about changes slowly, and some
// sensors take milliseconds to answer.
const every = time.Second

// slack lets a tick that comes a little early read all the same.
const slack = 100 * time.Millisecond

// Read returns a command that reads what the chosen meters show; nil where that is
// nothing, where it is under way, and where it is too early.
func (r *Reader) Read(ids []string, now time.Time) tea.Cmd {
	want := slices.DeleteFunc(slices.Clone(Chosen(ids)), func(m *Meter) bool { return m.read == nil })
	if r == nil || len(want) == 0 || r.busy || now.Sub(r.began) < every-slack {
		return nil
	}
	r.busy, r.began = true, now
	last := r.live
	return func() tea.Msg { return Msg{r.read(want, last, now)} }
}

// Take keeps what was read, and returns the faults of meters that had none before.
func (r *Reader) Take(m Msg) (news []string) {
	r.live, r.busy = m.live, false
	for meter, fault := range m.live.faults {
		if !r.said[meter] {
			r.said[meter] = true
			news = append(news, fault)
		}
	}
	slices.Sort(news)
	return news
}

// unknown is Live before anything was read.
var unknown Live

// Live is what was read last. It is not changed by the next reading, which has its own.
func (r *Reader) Live() *Live {
	if r == nil {
		return &unknown
	}
	return r.live
}

func (r *Reader) read(want []*Meter, last *Live, now time.Time) *Live {
	l := &Live{at: now, counters: map[string]devices{}, figures: map[string][2]float64{}, partial: map[string]bool{}, faults: map[string]string{}}
	seconds := now.Sub(last.at).Seconds()
	for _, m := range want {
		got := m.read(r)
		if got.fault != "" {
			l.faults[m.ID] = got.fault
		}
		if got.counters != nil {
			l.counters[m.ID] = got.counters
			got.rates(last.counters[m.ID], seconds)
		}
		if got.known {
			l.figures[m.ID], l.partial[m.ID] = got.figure, got.partial
		}
	}
	return l
}

// rates makes the figure of the counters. A device that is new has none yet, and one whose
// counters ran backwards is another by the name.
func (g *reading) rates(before devices, seconds float64) {
	g.known = before != nil && seconds > 0 && len(g.counters) == 0 && !g.partial
	for name, now := range g.counters {
		then, had := before[name]
		if !had || now[0] < then[0] || now[1] < then[1] || seconds <= 0 {
			g.partial = true
			continue
		}
		g.known = true
		for i := range now {
			g.figure[i] += (now[i] - then[i]) / seconds
		}
	}
}
