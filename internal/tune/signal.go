package tune

import (
	"errors"
	"fmt"
	"syscall"
)

// Signal sends a signal to the target's process, through a handle that was open
// before its start time was compared: it reaches that process or nobody.
// The scope does not matter.
func (t *Tuner) Signal(target Target, sig syscall.Signal) error {
	if !t.o.Proc.Live() {
		return ErrNotLive
	}
	if target.TID <= 0 {
		return usagef("%d is not the number of a process or thread", target.TID)
	}
	st, err := t.o.Proc.Status(target.TID)
	if err != nil {
		return fmt.Errorf("signal %d: %w", target.TID, err)
	}
	handle, err := t.o.Sched.Hold(st.TGID)
	if err != nil {
		return fmt.Errorf("signal %d: %w", target.TID, t.mark(err))
	}
	defer func() { _ = handle.Close() }()
	k, err := t.look(st.TGID, target.TID)
	if err != nil {
		return fmt.Errorf("signal %d: %w", target.TID, err)
	}
	if target.StartTicks != 0 && k.startTicks != target.StartTicks {
		return fmt.Errorf("%d now names another task, %s: the one that was meant: %w", target.TID, printable(k.comm), ErrGone)
	}
	err = handle.Signal(sig)
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("%d (%s) belongs to another user; signals to it need CAP_KILL: run piton with sudo: %w",
			target.TID, printable(k.comm), markedError{err, ErrNotPermitted})
	}
	return err
}
