package screen_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"piton/internal/auto"
	"piton/internal/change"
	"piton/internal/demo"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui"
	"piton/internal/tui/screen"
	"piton/internal/tuitest"
)

// sent is something that a terminal sends as a whole.
type sent struct {
	bytes string
	keys  []string // that it stands for, as Bubble Tea names them
	loud  bool     // one of them may change something
}

// quiet is what changes nothing, whatever the screen shows: keys that move, the mouse without a
// button, answers, a paste. Of its letters in sequences many are keys that change something.
var quiet = []sent{
	{bytes: "j", keys: []string{"j"}}, {bytes: "\t", keys: []string{"tab"}}, {bytes: "ä", keys: []string{"ä"}}, {bytes: "中", keys: []string{"中"}},
	{bytes: "\x1b[A", keys: []string{"up"}}, {bytes: "\x1b[B", keys: []string{"down"}}, {bytes: "\x1bOB", keys: []string{"down"}},
	{bytes: "\x1b[1;5C", keys: []string{"ctrl+right"}}, {bytes: "\x1b[1;2D", keys: []string{"shift+left"}}, {bytes: "\x1b[5~", keys: []string{"pgup"}},
	{bytes: "\x1b[6~", keys: []string{"pgdown"}}, {bytes: "\x1b[H", keys: []string{"home"}}, {bytes: "\x1b[8~", keys: []string{"end"}},
	{bytes: "\x1b[Z", keys: []string{"shift+tab"}}, {bytes: "\x1b[[A", keys: []string{"f1"}}, {bytes: "\x1b[[E", keys: []string{"f5"}}, {bytes: "\x1bOR", keys: []string{"f3"}},
	{bytes: "\x1b[15~", keys: []string{"f5"}}, {bytes: "\x1bj", keys: []string{"alt+j", "j"}},
	{bytes: "\x1b[<64;10;10M"}, {bytes: "\x1b[<65;70;20M"}, {bytes: "\x1b[<35;70;20M"}, {bytes: "\x1b[<0;5;7m"}, {bytes: "\x1b[<32;-1;5M"}, {bytes: "\x1b[M`k]"}, {bytes: "\x1b[MC9["},
	{bytes: "\x1b[?62;22c"}, {bytes: "\x1b[>41;390;0c"}, {bytes: "\x1b]11;rgb:2020/2020/2020\x1b\\"}, {bytes: "\x1b]11;rgb:ffff/ffff/ffff\a"}, {bytes: "\x1b[?2026;2$y"},
	{bytes: "\x1b[3;1R"}, {bytes: "\x1b[I"}, {bytes: "\x1b[O"}, {bytes: "\x1bP1+r6b6b=7a5d5b\x1b\\"}, {bytes: "\x1bP>|zkR p[9](1)\x1b\\"}, {bytes: "\x1b_Gi=31;zpk]\x1b\\"},
	{bytes: "\x1b]0;kill [9] zpYy\a"}, {bytes: "\x1b[200~zk[]\rq\x1b[201~"},
}

// loud is what may change something, or end the program.
var loud = []sent{
	{"]", []string{"]"}, true}, {"[", []string{"["}, true}, {"p", []string{"p"}, true}, {"z", []string{"z"}, true}, {"k", []string{"k"}, true},
	{"\r", []string{"enter"}, true}, {"y", []string{"y"}, true}, {"9", []string{"9"}, true}, {" ", []string{"space"}, true}, {"A", []string{"A"}, true},
	{"\x1b[18~", []string{"f7"}, true}, {"\x1b[19~", []string{"f8"}, true}, {"\x1b[20~", []string{"f9"}, true}, {"\x1bOM", []string{"enter"}, true},
	{"\x1b[<0;9;30M", nil, true}, {"\x1b[<0;30;40M", nil, true}, {"\x1b[<2;9;30M", nil, true},
}

var whole = slices.Concat(quiet, loud)

// openers are keys that show something else; mostly none are pressed.
var openers = []string{"", "", "", "", "", "", "", "", "", "", "", "", "", "k", "a", "Y", "i", "/", `\`, "u", "<", "C", "2", "3", "4", "5", "f1", "A ]", "A f8", "enter", "l", "e", "S", "c k", "space k"}

// sink counts what is changed.
type sink struct {
	tui.Tuning
	changes int
	last    string
}

func (s *sink) Apply(ctx context.Context, p change.Plan, c change.Confirmation) (change.Outcome, error) {
	s.changes++
	s.last = fmt.Sprint(time.Now().Format(time.TimeOnly), " ", p.Undoes, p.Changes)
	return s.Tuning.Apply(ctx, p, c)
}

func (s *sink) Signal(target change.Target, sig syscall.Signal) error {
	s.changes++
	return s.Tuning.Signal(target, sig)
}

func (s *sink) Search(ctx context.Context, _ *model.Model, _ []change.Target, _ func(auto.State)) (auto.State, error) {
	s.changes++
	return auto.State{}, nil
}

// typist gives a screen of the demonstration's machine what terminals send, in the time of a
// synctest bubble, through what stands in front of Bubble Tea.
type typist struct {
	t       *testing.T
	rng     *rand.Rand
	cut     screen.Cutter
	filter  func(tea.Model, tea.Msg) tea.Msg
	screen  *tui.Model
	sink    *sink
	machine *demo.Machine
	needs   sample.Needs
	out     chan *sample.Sample
	*tuitest.Loop

	may []string // the keys that may come
	log []string
}

func (p *typist) Samples() <-chan *sample.Sample { return p.out }
func (p *typist) SetNeeds(n sample.Needs)        { p.needs = n }
func (p *typist) SetInterval(time.Duration)      {}
func (p *typist) Refresh()                       {}

// events gives what the cutter has made of bytes to the screen.
func (p *typist) events(events []tea.Msg) {
	for _, e := range events {
		var msg tea.Msg = e
		switch e := e.(type) { // as Bubble Tea does
		case uv.KeyPressEvent:
			if name := e.String(); !slices.Contains(p.may, name) {
				p.fail("%q was not pressed", name)
			}
			msg = tea.KeyPressMsg(e)
		case uv.MouseClickEvent:
			msg = tea.MouseClickMsg(e)
		case uv.MouseMotionEvent:
			msg = tea.MouseMotionMsg(e)
		case uv.MouseReleaseEvent:
			msg = tea.MouseReleaseMsg(e)
		case uv.MouseWheelEvent:
			msg = tea.MouseWheelMsg(e)
		case uv.BackgroundColorEvent:
			msg = tea.BackgroundColorMsg(e)
		case uv.ModeReportEvent:
			msg = tea.ModeReportMsg(e)
		}
		if msg = p.filter(p.screen, msg); msg != nil {
			p.Send(msg)
			p.Settle()
		}
	}
}

func (p *typist) fail(format string, args ...any) {
	p.t.Helper()
	require.Failf(p.t, fmt.Sprintf(format, args...), "after %s on\n%s", strings.Join(p.log, " "), ansi.Strip(p.screen.View().Content))
}

// pass lets time pass.
func (p *typist) pass(d time.Duration) {
	p.log = append(p.log, d.String())
	until := time.Now().Add(d)
	for at, ok := p.cut.Deadline(); ok && !at.After(until); at, ok = p.cut.Deadline() {
		time.Sleep(time.Until(at))
		p.events(p.cut.Expire(at))
	}
	time.Sleep(time.Until(until))
}

func (p *typist) feed(b string) {
	if b != "" {
		p.log = append(p.log, strconv.Quote(b))
		p.events(p.cut.Feed([]byte(b), time.Now()))
	}
}

// unknown is a sequence that piton does not know.
func (p *typist) unknown() sent {
	letters := func(from, to byte, most int) string {
		b := make([]byte, p.rng.IntN(most+1))
		for i := range b {
			b[i] = from + byte(p.rng.IntN(int(to-from)+1))
		}
		return string(b)
	}
	switch p.rng.IntN(4) {
	case 0:
		return sent{bytes: "\x1b[>" + letters('0', ';', 20) + letters('!', '/', 2) + "q"}
	case 1:
		return sent{bytes: "\x1b]7" + letters(' ', '~', 40) + "\a"}
	case 2:
		return sent{bytes: "\x1b" + []string{"P1+r", "P>|", "P!|", "_G"}[p.rng.IntN(4)] + letters(' ', '~', 40) + "\x1b\\"}
	}
	return sent{bytes: letters(0x80, 0xbf, 8)}
}

// choose is something that is sent, one of the loud kind if it may be.
func (p *typist) choose(noise bool) sent {
	switch n := p.rng.IntN(12); {
	case n == 0:
		return p.unknown()
	case n < 4 && noise:
		return loud[p.rng.IntN(len(loud))]
	}
	return quiet[p.rng.IntN(len(quiet))]
}

// play sends a few whole things and a torn one among them.
func (p *typist) play() {
	p.may, p.log = []string{"esc"}, p.log[:0]
	noise := p.rng.IntN(4) == 0
	before, heard := p.sink.changes, false
	all := make([]sent, 1+p.rng.IntN(4))
	torn, lost := p.rng.IntN(len(all)), p.rng.IntN(3) == 0
	for i := range all {
		if i == torn && lost { // one of either kind: nothing of it may be heard
			all[i] = whole[p.rng.IntN(len(whole))]
			continue
		}
		all[i] = p.choose(noise)
		heard = heard || all[i].loud
		p.may = append(p.may, all[i].keys...)
	}
	for i, s := range all {
		if i != torn || !lost && len(s.bytes) < 2 {
			p.feed(s.bytes)
			continue
		}
		at := p.rng.IntN(len(s.bytes))
		p.feed(s.bytes[:at])
		if lost { // what is next comes after a while
			p.pass(11 * time.Second)
			continue
		}
		p.pass(time.Duration(p.rng.IntN(501)) * time.Millisecond)
		p.feed(s.bytes[at:])
	}
	p.pass(11 * time.Second)
	if p.sink.changes != before && !heard {
		p.fail("something was changed: %s", p.sink.last)
	}
	if p.Quit && !heard {
		p.fail("it has ended")
	}
	if heard { // Escape reverts what is not kept yet, and so does time
		p.press("esc esc esc")
		p.rest(2 * time.Minute)
	}
}

// rest lets time pass until a sample, which what was asked for meanwhile waits for.
func (p *typist) rest(d time.Duration) {
	time.Sleep(d)
	p.Settle()
	p.out <- p.machine.Tick(time.Second, p.needs)
	p.Settle()
}

// press presses whole keys that may change anything.
func (p *typist) press(names string) {
	for name := range strings.FieldsSeq(names) {
		p.Send(tuitest.Key(name))
		p.Settle()
	}
	p.Quit = false
}

// end lets guards and commands end that wait for time.
func (p *typist) end() {
	close(p.out)
	require.NoError(p.t, p.machine.Close())
	for range 100 {
		time.Sleep(time.Minute)
		p.Settle()
	}
}

// TestInput sends random and torn sequences to the whole screen: no key is made of one that was
// not pressed, nothing is changed without a whole key that does so, and nothing panics.
func TestInput(t *testing.T) {
	sequences := 4000
	if n, err := strconv.Atoi(os.Getenv("SEEDS")); err == nil {
		sequences = n
	}
	seed, _ := strconv.ParseUint(os.Getenv("FROM"), 10, 64)
	const each = 250 // sequences to a screen: a filter may be left that shows nothing
	changes := 0
	for n := 0; n < sequences; n += each {
		if n > 0 && n%1_000_000 == 0 {
			t.Logf("%d sequences", n)
		}
		synctest.Test(t, func(t *testing.T) {
			m, err := demo.New(4, seed+uint64(n))
			require.NoError(t, err)
			p := &typist{t: t, machine: m, rng: rand.New(rand.NewPCG(seed, uint64(n))), filter: tui.MouseFilter(), out: make(chan *sample.Sample)}
			d := m.Deps(tui.Options{Saved: tui.Saved{Interval: time.Second}, Version: "test"}, p)
			p.sink = &sink{Tuning: d.Tuning}
			d.Tuning = p.sink
			p.screen = tui.New(d)
			p.Loop = tuitest.NewLoop(func(msg tea.Msg) tea.Cmd {
				_, cmd := p.screen.Update(msg)
				return cmd
			})
			defer p.end()
			p.Run(p.screen.Init())
			p.Send(tea.WindowSizeMsg{Width: 120, Height: 40})
			for i := range min(each, sequences-n) {
				if i%10 == 0 {
					p.press("esc esc esc 1 U " + openers[p.rng.IntN(len(openers))])
					p.rest(time.Second) // few may be shown, so that it is not asked
				}
				p.play()
				if i%10 == 9 {
					p.screen.View()
				}
			}
			changes += p.sink.changes
		})
	}
	require.Positive(t, changes, "whole keys change something")
	t.Logf("%d sequences, %d changes", sequences, changes)
}
