package dialog

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/action"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/meters"
	"piton/internal/tuitest/golden"
)

// everyDialog is one of each kind, in an ordinary state.
func everyDialog() []Dialog {
	return []Dialog{
		NewConfirmPlan("Apply?", samplePlan()),
		NewConfirm("Keep it?", []Line{{Loud, "FIFO:10 on nqueens (3641)"}}, "keep", "revert").Countdown(15 * time.Second),
		NewSignals("nqueens (3641)"), sampleUsers(), NewSort(field.Columns, "nice"),
		NewIOPriority("nqueens (3641)", kernel.IOPrio{Class: kernel.IOBestEffort, Level: 4}),
		NewText("Environment of 3641", []string{"PATH=/usr/bin", strings.Repeat("x ", 60)}),
		NewPolicy(PolicyOptions{Subject: "nqueens (3641)", Current: attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 10}, Busy: true}),
		sampleSetup(), samplePalette(), NewHelp("Keys", sampleSpecs, nil, action.State{View: action.Processes}),
		NewPrompt("filter", "cpu=3", nil),
		NewAffinity(AffinityOptions{Subject: "nqueens (3641)", Topology: topologytest.Sized(8), Current: cpuset.Of(0, 1, 2), LeastLoaded: 5}),
	}
}

func sampleUsers() *Menu {
	return NewMenu("Show processes of", []Item{{Label: "all users", Detail: "  152 processes", Value: ""}, {Label: "root", Detail: "  120 processes", Value: "root"},
		{Label: "balu", Detail: "   31 processes", Value: "balu"}, {Label: "postgres", Detail: "    1 process", Value: "postgres"}}, 2)
}

func sampleSetup() *Setup {
	return NewSetup(field.Columns, []string{"full", "folded", "hidden"},
		Settings{Columns: []string{"pid", "cpu", "command"}, Delay: time.Second, Panel: "folded", Layout: "main"})
}

func TestMenuFindsWhatIsTyped(t *testing.T) {
	m := NewSignals("x")
	typeText(m, "kill")
	assert.Equal(t, 9, press(m, "enter").Value)
	m = NewSignals("x")
	typeText(m, "19")
	assert.Equal(t, 19, press(m, "enter").Value)
	m = NewSignals("x")
	typeText(m, "9")
	assert.Equal(t, 9, press(m, "enter").Value, "a number at the beginning of the label comes first")
	m = NewSignals("x")
	typeText(m, "1")
	assert.Equal(t, 1, press(m, "enter").Value, "15 stands before it, and only begins with it")
	m = NewMenu("x", []Item{{Label: "bobby"}, {Label: "rob bob"}, {Label: "bob", Value: "bob"}}, 0)
	typeText(m, "bob")
	assert.Equal(t, "bob", press(m, "enter").Value)
	m = NewRegions("x", topologytest.Sized(64), nil, -1)
	typeText(m, "cpu 1")
	assert.Equal(t, cpuset.Of(1), press(m, "enter").Value)
	m = NewSignals("x")
	typeText(m, "kz")
	assert.Contains(t, ansi.Strip(m.Render(60, 10, plain)), "nothing here fits this")
	assert.Equal(t, Outcome{}, press(m, "enter"), "no signal is sent by a mistake")
	assert.Equal(t, 9, press(m, "backspace i enter").Value)
	assert.Equal(t, 15, press(NewSignals("x"), "enter").Value)
}

func TestMenuRefusesInWords(t *testing.T) {
	m := NewMenu("m", []Item{{Label: "node", Off: "there is one node only"}, {Label: "llc", Value: 1}}, 0)
	assert.Equal(t, Outcome{}, press(m, "enter"))
	assert.Contains(t, ansi.Strip(m.Render(60, 10, plain)), "node: there is one node only")
	assert.Equal(t, 1, press(m, "down enter").Value)
	assert.True(t, press(NewMenu("empty", nil, 0), "enter").Canceled)
}

func TestMenusGiveTheirValues(t *testing.T) {
	assert.Equal(t, "balu", press(sampleUsers(), "enter").Value)
	assert.Equal(t, "", press(sampleUsers(), "home enter").Value)
	assert.Equal(t, "nice", press(NewSort(field.Columns, "nice"), "enter").Value)
	assert.Equal(t, kernel.IOPrio{Class: kernel.IOBestEffort, Level: 4},
		press(NewIOPriority("x", kernel.IOPrio{Class: kernel.IOBestEffort, Level: 4}), "enter").Value)
	assert.Equal(t, kernel.IOPrio{Class: kernel.IORealTime, Level: 7}, press(NewIOPriority("x", kernel.IOPrio{}), "end enter").Value)
	assert.Equal(t, kernel.IOPrio{}, press(NewIOPriority("x", kernel.IOPrio{}), "enter").Value)
}

func TestPolicyPicker(t *testing.T) {
	start := attr.PolicyValue{}
	for keys, want := range map[string]attr.PolicyValue{
		"enter":                   {},
		"f enter":                 {Policy: kernel.FIFO, RTPrio: 10},
		"f 5 0 enter":             {Policy: kernel.FIFO, RTPrio: 50},
		"r + + x enter":           {Policy: kernel.RR, RTPrio: 12, ResetOnFork: true},
		"r - enter":               {Policy: kernel.RR, RTPrio: 9},
		"r 1 2 backspace enter":   {Policy: kernel.RR, RTPrio: 1},
		"f 0 enter":               {Policy: kernel.FIFO, RTPrio: 10},
		"f right left enter":      {Policy: kernel.FIFO, RTPrio: 10},
		"f tab 0 backspace enter": {Policy: kernel.FIFO, RTPrio: 10},
		"d tab up enter":          {Policy: kernel.Deadline, Runtime: 10e6, Deadline: 100e6, Period: 100e6},
		"5 enter":                 {},
		"down enter":              {Policy: kernel.Batch},
		"down down space enter":   {Policy: kernel.Idle, ResetOnFork: true},
	} {
		assert.Equal(t, []attr.Setting{attr.SetPolicy(want)}, press(NewPolicy(PolicyOptions{Subject: "x", Current: start}), keys).Value, keys)
	}
	text := ansi.Strip(NewPolicy(PolicyOptions{Subject: "x", Current: attr.PolicyValue{Policy: kernel.RR, RTPrio: 7}, Busy: true, Leftover: "nothing"}).Render(80, 20, plain))
	assert.Contains(t, text, "RR:7 → RR:7")
	assert.Contains(t, strings.Join(strings.Fields(text), " "), "ordinary tasks on its CPU get nothing.")
}

func TestPolicyFields(t *testing.T) {
	answer := func(o PolicyOptions, keys string) (texts []string) {
		for _, s := range press(NewPolicy(o), keys).Value.([]attr.Setting) {
			texts = append(texts, string(s.Attribute)+" "+s.Value.String())
		}
		return texts
	}
	assert.Equal(t, []string{"policy DEADLINE:10ms/100ms/100ms"}, answer(PolicyOptions{}, "d enter"))
	erase := strings.Repeat("backspace ", len("10ms/100ms/100ms"))
	assert.Equal(t, []string{"policy DEADLINE:5ms/20ms/20ms"}, answer(PolicyOptions{}, "d t "+erase+"5 m s / 2 0 m s / 2 0 m s enter"))

	assert.Equal(t, []string{"policy OTHER", "slice 3ms"}, answer(PolicyOptions{}, "s 3 m s enter"))
	assert.Equal(t, []string{"policy FIFO:10"}, answer(PolicyOptions{}, "s 3 m s up up home f enter"), "FIFO has none")
	assert.Equal(t, []string{"policy OTHER"}, answer(PolicyOptions{}, "s enter"), "nothing typed leaves it")

	assert.Equal(t, []string{"policy OTHER", "autogroup -5"}, answer(PolicyOptions{Autogroup: true}, "g - 5 enter"))
	known := attr.PolicyValue{Policy: kernel.Deadline}
	assert.Empty(t, answer(PolicyOptions{Current: known}, "enter"), "times that are not known are not written")

	for keys, note := range map[string]string{"t": "only DEADLINE has times", "f s": "only OTHER and BATCH", "g": "autogroup is off",
		"s 9 s enter": "out of range", "d t x enter": "is not a time", "f 1 0 0 enter": "priority must be a number from 1 to 99"} {
		p := NewPolicy(PolicyOptions{})
		assert.False(t, press(p, keys).Done, keys)
		assert.Contains(t, ansi.Strip(p.Render(80, 24, plain)), note, keys)
	}
}

func TestSetupTicksAndMoves(t *testing.T) {
	s := sampleSetup()
	toColumns := strings.Repeat("down ", 3+len(meters.All))
	out := press(s, "right down right "+toColumns[5:]+"right down space enter")
	assert.Equal(t, Settings{Columns: []string{"cpu", "pid"}, Delay: 2 * time.Second, Panel: "hidden", Layout: "main"}, out.Value)

	s = sampleSetup()
	assert.Equal(t, Outcome{}, press(s, toColumns+"space down space down space enter"))
	assert.Contains(t, ansi.Strip(s.Render(80, 20, plain)), "tick at least one column")
	odd := NewSetup(field.Columns, nil, Settings{Columns: []string{"pid", "gone"}, Delay: 1500 * time.Millisecond})
	assert.Equal(t, Settings{Columns: []string{"pid"}, Delay: 1500 * time.Millisecond}, press(odd, "enter").Value)

	s = NewSetup(field.Columns, nil, Settings{Columns: []string{"user:12", "command"}, Delay: time.Second, Layout: "io"})
	assert.Equal(t, []string{"user:13", "command"}, press(s, toColumns+"> down > enter").Value.(Settings).Columns, "the command has no width")
	s = NewSetup(field.Columns, nil, Settings{Columns: []string{"user:10"}, Delay: time.Second, Layout: "io"})
	assert.Equal(t, Settings{Columns: []string{"user"}, Layouts: true, Layout: "io", Delay: time.Second},
		press(s, toColumns+"< home down down enter").Value, "the usual width is none that is set")
}

func TestSetupOfMeters(t *testing.T) {
	setup := func(keys string) []string {
		s := NewSetup(field.Columns, nil, Settings{Columns: []string{"pid"}, Delay: time.Second, Meters: []string{"swap", "load"}})
		return press(s, "down down down "+keys).Value.(Settings).Meters
	}
	assert.Equal(t, []string{"swap", "load"}, setup("enter"))
	assert.Equal(t, []string{"load", "uptime"}, setup("space down left down down space enter"), "swap off, load up, the next one on")
	assert.Nil(t, setup("space down space enter"), "none is the usual ones")
}

func TestPromptRefusesWhatItsCheckRefuses(t *testing.T) {
	p := NewPrompt("filter", "", func(s string) error {
		if s == "x" {
			return errors.New("there is no column x")
		}
		return nil
	})
	assert.Equal(t, "x", p.Update(stroke("x")).Value)
	assert.Equal(t, Outcome{}, press(p, "enter"))
	assert.Contains(t, ansi.Strip(p.Render(60, 1, plain)), "there is no column x")
	assert.Equal(t, "xy", press(p, "y enter").Value)
	p.SetNote("no match")
	assert.Contains(t, ansi.Strip(p.Render(60, 1, plain)), "no match")
}

var sampleSpecs = []action.Spec{
	{ID: "tune.pin", Keys: []string{"p"}, Label: "p", Short: "Pin", Help: "pin to the least-loaded CPU; says which and why", Verb: "pin", Group: "Tune", Needs: action.Selection},
	{ID: "tune.nice.lower", Keys: []string{"f7", "]"}, Label: "F7 ]", Short: "Nice -", Help: "nice one lower: more CPU time", Verb: "nice", Group: "Tune"},
	{ID: "find.search", Keys: []string{"f3", "/"}, Label: "F3 /", Short: "Search", Help: "search by name or PID", Group: "Find and sort"},
	{ID: "sort.menu", Keys: []string{"f6", "<", ">"}, Label: "F6 < >", Short: "Sort", Help: "choose the column to sort by", Group: "Find and sort"},
	{ID: "app.quit", Keys: []string{"f10", "q"}, Label: "F10 q", Short: "Quit", Help: "quit", Group: "piton"},
}

func TestHelpSearchesScrollsAndCloses(t *testing.T) {
	h := NewHelp("Keys", sampleSpecs, []string{"MIG/s is migrations a second."}, action.State{})
	h.Render(30, 4, plain)
	assert.Equal(t, Outcome{}, press(h, "down pgdown"))
	assert.Equal(t, answered("t"), press(h, "t"), "what is looked for begins with it")
	for _, key := range []string{"esc", "q", "?", "enter"} {
		assert.True(t, press(h, key).Canceled, key)
	}
}

func samplePalette() *Menu {
	return NewMenu("Find", []Item{
		{Value: "tune.pin", Key: "p", Label: "Pin", Detail: "pin to the least-loaded CPU", Find: "tune.pin"},
		{Value: "tune.undo", Key: "z", Label: "Undo", Detail: "undo the last change", Find: "tune.undo", Off: "there is nothing to undo"},
		{Value: "column.cgroup", Label: "CGROUP", Detail: "show or hide the column CGROUP", Find: "column.cgroup"}}, 0)
}

func TestPaletteFinds(t *testing.T) {
	p := samplePalette()
	assert.Equal(t, "tune.pin", press(p, "enter").Value, "the first, as long as nothing is typed")
	assert.Equal(t, "column.cgroup", press(p, "c g r enter").Value, "letters in order")
	p = samplePalette()
	assert.Equal(t, Outcome{}, press(p, "u n d o enter"))
	assert.Contains(t, ansi.Strip(p.Render(80, 20, plain)), "Undo: there is nothing to undo")
	press(p, "q q q")
	assert.Contains(t, ansi.Strip(p.Render(80, 20, plain)), "nothing here fits this")
	assert.Equal(t, Outcome{}, press(p, "enter"))
	assert.True(t, press(p, "esc").Canceled)
	assert.Equal(t, "column.cgroup", press(samplePalette().Typed("show"), "enter").Value)
}

func TestChoosersLook(t *testing.T) {
	checkGolden(t, "signals", NewSignals("nqueens (3641)"))
	checkGolden(t, "users", sampleUsers())
	checkGolden(t, "places", NewMenu("Place 3 processes (41 threads)", []Item{{Label: "pack", Detail: "cpu 0-3", More: "Together: same core, then same cache."},
		{Label: "llc", Off: "there is no CPU for it", More: strings.Repeat("All CPUs of the least loaded last-level cache. ", 3)}}, 0))
	checkGolden(t, "ioprio", NewIOPriority("nqueens (3641)", kernel.IOPrio{Class: kernel.IOBestEffort, Level: 4}))
	checkGolden(t, "sort", NewSort(field.Columns, "migrations_per_s"))
	checkGolden(t, "policy", NewPolicy(PolicyOptions{Subject: "nqueens (3641)", Busy: true, Autogroup: true}))
	checkGolden(t, "policy-fifo", NewPolicy(PolicyOptions{Subject: "nqueens (3641)", Current: attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 10}, Busy: true, Leftover: "5 % of it"}))
	deadline := NewPolicy(PolicyOptions{Subject: "nqueens (3641)"})
	press(deadline, "d")
	checkGolden(t, "policy-deadline", deadline)
	press(deadline, "t x")
	checkGolden(t, "policy-times", deadline)
	checkGolden(t, "setup", sampleSetup())
	setup := sampleSetup()
	press(setup, "end") // its keys take two lines
	golden.Check(t, "setup-56x13", setup.Render(56, 13, plain), 56, 13)
	golden.Check(t, "policy-56x13", NewPolicy(PolicyOptions{Subject: "x", Busy: true, Leftover: "5 % of it", Current: attr.PolicyValue{Policy: kernel.RR, RTPrio: 7}}).Render(56, 13, plain), 56, 13)
	checkGolden(t, "prompt", NewPrompt("filter", "cpu=3 mig>10", nil))
	checkGolden(t, "help", NewHelp("Keys", sampleSpecs, []string{"MIG/s is migrations a second."}, action.State{View: action.Processes}))
	checkGolden(t, "palette", samplePalette())
}

// TestNoExplanationIsCutForGood: what is cut beside the item under the cursor is below the
// list, and the policies have as many lines as they take.
func TestNoExplanationIsCutForGood(t *testing.T) {
	detail := "migrations to another CPU a second; ≥ marks a lower bound, which is sampled"
	m := NewMenu("Sort by", []Item{{Label: "MIG/s", Detail: detail}, {Label: "PID", Detail: "process id"}}, 0)
	words := func(s string) string { return strings.Join(strings.Fields(ansi.Strip(s)), " ") }
	assert.Contains(t, words(m.Render(60, 20, plain)), detail)
	assert.NotContains(t, words(m.Render(100, 20, plain)), detail+" "+detail)
	s := NewSetup(field.Columns, []string{"full"}, Settings{Columns: []string{"policy"}, Delay: time.Second, Panel: "full"})
	s.GoTo(slices.IndexFunc(s.Fields, func(fd Field) bool { return fd.Value == "policy" }))
	assert.Contains(t, words(s.Render(76, 20, plain)), "with the real-time priority; * where threads differ from the first")
	for _, width := range []int{50, 60, 76} {
		p := NewPolicy(PolicyOptions{Subject: "x"})
		press(p, "f")
		assert.Contains(t, words(p.Render(width, 30, plain)), "until it blocks or yields", width)
	}
}
