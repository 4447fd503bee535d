package screen

import (
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"piton/internal/kernel"
)

// keyboard reads the terminal and tells whole keys; see cutter. Bubble Tea's own reader
// makes keys of the letters of a torn sequence.
type keyboard struct {
	in   *os.File
	tell func(tea.Msg) // delivers an event
	gone func()        // the terminal was closed
	cut  cutter        // of run, and of collect while lent

	wakeR, wakeW *os.File
	mu           sync.Mutex // held to read
	lent, closed bool       // somebody else reads; run ends
	answered     time.Time  // the last answer to a question came, told or not
	done         chan struct{}
}

func newKeyboard(in *os.File, tell func(tea.Msg), gone func()) (*keyboard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &keyboard{in: in, tell: tell, gone: gone, wakeR: r, wakeW: w, done: make(chan struct{})}, nil
}

// lend makes somebody else read the terminal, or not any more. Once it has returned, no
// byte is taken.
func (k *keyboard) lend(lent bool) {
	k.mu.Lock()
	k.lent = lent
	k.mu.Unlock()
	_, _ = k.wakeW.Write([]byte{0})
}

// close ends run and waits for that.
func (k *keyboard) close() {
	k.mu.Lock()
	k.lent, k.closed = true, true
	k.mu.Unlock()
	_, _ = k.wakeW.Write([]byte{0})
	<-k.done
	_, _ = k.wakeR.Close(), k.wakeW.Close()
}

// run reads until close, or until the terminal is closed.
func (k *keyboard) run() {
	defer close(k.done)
	for {
		k.mu.Lock()
		lent, closed := k.lent, k.closed
		wait := time.Duration(-1)
		if at, ok := k.cut.deadline(); ok && !lent {
			wait = max(time.Until(at), 0)
		}
		k.mu.Unlock()
		if closed {
			return
		}
		ready, ended, woken, err := kernel.Await(int(k.in.Fd()), int(k.wakeR.Fd()), lent, wait)
		if woken {
			_, _ = k.wakeR.Read(make([]byte, 16))
			continue
		}
		if err != nil || ended && !ready {
			k.gone()
			return
		}
		events, err := k.read(ready)
		if err != nil {
			k.gone()
			return
		}
		for _, e := range events {
			k.tell(e)
		}
	}
}

// read takes what there is, unless the terminal was lent meanwhile.
func (k *keyboard) read(ready bool) ([]tea.Msg, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.lent:
		return nil, nil
	case !ready:
		return k.cut.expire(time.Now()), nil
	}
	if ready, err := kernel.AwaitData(int(k.in.Fd()), 0); err != nil || !ready { // another process has read it
		return nil, err
	}
	return k.take()
}

func isAnswer(msg tea.Msg) bool {
	_, ok := msg.(uv.PrimaryDeviceAttributesEvent)
	return ok
}

func (k *keyboard) take() ([]tea.Msg, error) {
	var b [4096]byte
	n, err := k.in.Read(b[:])
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return nil, nil
	case err != nil:
		return nil, err
	}
	now := time.Now()
	events := k.cut.feed(b[:n], now)
	if slices.ContainsFunc(events, isAnswer) {
		k.answered = now
	}
	return events, nil
}
