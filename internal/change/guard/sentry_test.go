package guard

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/history"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// bed is a guard of a fake machine, whose clock passes while somebody sleeps.
type bed struct{ now time.Duration }

func (b *bed) Stat(kernel.TID) (procfs.Stat, error) { return procfs.Stat{}, nil } // every guard runs
func (b *bed) Now() time.Duration                   { return b.now }
func (b *bed) Sleep(d time.Duration)                { b.now += d }
func (b *bed) Namespaces() [2]uint64                { return [2]uint64{} }

// gone is the connection to a piton that has ended.
type gone struct{}

func (gone) Await(time.Duration) ([]byte, bool) { return nil, false }
func (gone) Answer(byte)                        {}

// TestRevertWithoutTheRight: nice cannot be lowered again. The guard tries, says in the
// journal why not, and ends, also while the guard of a newer change waits.
func TestRevertWithoutTheRight(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	j := changetest.Journal(t)
	tuner := func(command string) *change.Tuner {
		return m.Tuner(change.Options{Sources: attr.Sources{Rights: changetest.NoRights}, Journal: j, Command: command})
	}
	changetest.Apply(t, tuner("piton nice"), changetest.One(attr.SetNice(15), 10))
	m.Fail("SetNice", 10, syscall.EACCES)
	clock := &bed{now: time.Hour}
	pages := &Simulated{Machine: clock}
	g, _ := pages.Arm("journal", time.Second, 1, nil, gone{})
	newer, _ := pages.Arm("journal", time.Hour, 2, nil, gone{})
	newer.s.page.word(wordEntry).Store(2)
	g.s.entry, g.s.gone = changetest.Entries(t, j)[0], true
	g.s.page.word(wordEntry).Store(1)
	g.s.page.become(Making, Waiting)
	g.s.page.word(wordDue).Store(uint64(clock.now + time.Second))
	g.Run(1, 0, func() {}, m.Tuner(change.Options{Sources: attr.Sources{Rights: changetest.NoRights}}), tuner)
	assert.Less(t, clock.now, time.Hour+time.Minute, "it does not wait for the newer one")
	assert.LessOrEqual(t, len(m.Calls()), 6, "nor try for ever")

	operations := history.Operations(changetest.Entries(t, j), nil)
	require.Len(t, operations[0].Undos, 1)
	assert.Equal(t, "revert failed: needs CAP_SYS_NICE", operations[0].RevertFailed())
}

// racing is a bed on which something happens while a guard's process is looked for.
type racing struct {
	bed
	meanwhile func()
	there     bool
}

func (r *racing) Stat(kernel.TID) (procfs.Stat, error) {
	there := r.there
	r.meanwhile()
	if !there {
		return procfs.Stat{}, procfs.ErrGone
	}
	return procfs.Stat{}, nil
}

// TestGuardThatEndsMeanwhile has reverted everything and ended between two looks at it: it is not
// lost.
func TestGuardThatEndsMeanwhile(t *testing.T) {
	for _, from := range []State{Making, Reverting} {
		host := &racing{bed: bed{now: time.Hour}}
		pages := &Simulated{Machine: host}
		g, armed := pages.Arm("journal", time.Second, 1, nil, gone{})
		p := g.s.page
		p.word(wordPID).Store(1)
		p.word(wordEntry).Store(1)
		again := func() { p.word(wordState).Store(uint64(from)) }
		host.meanwhile = func() { p.word(wordState).Store(uint64(Reverted)) }

		again()
		list, err := pages.Launcher("journal").List()
		require.NoError(t, err)
		assert.Empty(t, list)
		again()
		require.ErrorIs(t, p.keep(Waiting, Making), map[State]error{Making: nil, Reverting: change.ErrTooLate}[from])
		again()
		require.ErrorIs(t, armed.Stands(), change.ErrTooLate)
	}
}

// TestPageOfAGuardThatStarts is not taken for one that is left over, though its process is not
// known at the first look.
func TestPageOfAGuardThatStarts(t *testing.T) {
	host := &racing{bed: bed{now: time.Hour}, there: true}
	pages := &Simulated{Machine: host}
	g, _ := pages.Arm("journal", time.Second, 1, nil, gone{})
	p := g.s.page
	host.there = false
	host.meanwhile = func() { // the guard says which process it is
		p.word(wordPID).Store(1)
		host.there = true
	}
	_, err := pages.Launcher("journal").List()
	require.NoError(t, err)
	list, err := pages.pages("")
	require.NoError(t, err)
	assert.Len(t, list, 1)
}
