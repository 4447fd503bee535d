package guard

import (
	"sync/atomic"
	"time"

	"piton/internal/kernel"
	"piton/internal/tune"
)

// alarmStep is how often an alarm looks at its clock.
const alarmStep = 50 * time.Millisecond

// alarm takes a change back at its deadline without the rest of the guard, whose
// threads are kept waiting by tasks of real-time priority 99. It has one thread,
// and shares nothing with the others but what it is for. A nil alarm does nothing.
type alarm struct {
	target atomic.Pointer[target]
	state  atomic.Int32
}

const (
	alarmSet  int32 = iota
	alarmRang       // it takes the change back, or has done so
	alarmOff
)

// target is what an alarm takes back, and when. It is never changed.
type target struct {
	entry tune.Entry
	due   time.Time
}

// startAlarm starts one, and returns when its thread is above all others, or why
// it cannot be. It calls back until nothing is left: what a newer change holds is
// to be taken back when that is, and it may be nobody else's turn by then.
func startAlarm(back func(tune.Entry) (left bool)) (*alarm, error) {
	a, ready := &alarm{}, make(chan error)
	go func() {
		err := AboveAll()
		ready <- err
		for err == nil && a.state.Load() == alarmSet {
			now := a.target.Load()
			if now != nil && !time.Now().Before(now.due) && a.state.CompareAndSwap(alarmSet, alarmRang) {
				for back(now.entry) {
					kernel.Sleep(turnStep)
				}
			}
			kernel.Sleep(alarmStep)
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return a, nil
}

// set gives the alarm its target.
func (a *alarm) set(entry tune.Entry, due time.Time) {
	if a != nil {
		a.target.Store(&target{entry, due})
	}
}

// stop ends the alarm, and reports whether that was in time.
func (a *alarm) stop() bool { return a == nil || a.state.CompareAndSwap(alarmSet, alarmOff) }
