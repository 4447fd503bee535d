package change

import (
	"errors"
	"fmt"
	"syscall"

	"piton/internal/change/attr"
)

// Signal sends a signal to the target's process, through a handle that was open
// before its start time was compared: it reaches that process or none.
// The scope does not matter.
func (t *Tuner) Signal(target Target, sig syscall.Signal) error {
	if !t.Proc.Live() {
		return ErrNotLive
	}
	if target.TID <= 0 {
		return attr.Usagef("%d is not the number of a process or thread", target.TID)
	}
	st, err := t.Proc.Status(target.TID)
	if err != nil {
		return fmt.Errorf("signal %d: %w", target.TID, err)
	}
	if t.o.Writer == nil {
		return ErrReadOnly
	}
	handle, err := t.o.Writer.Hold(st.TGID, 0)
	if err != nil {
		return fmt.Errorf("signal %d: %w", target.TID, err)
	}
	defer func() { _ = handle.Close() }()
	k, err := t.Look(st.TGID, target.TID)
	if err != nil {
		return fmt.Errorf("signal %d: %w", target.TID, err)
	}
	if err := meant(target, k); err != nil {
		return err
	}
	err = handle.Signal(sig)
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("%d (%s) belongs to another user; signals to it need CAP_KILL: run piton with sudo: %w",
			target.TID, attr.Printable(k.Comm), attr.NotPermitted(err))
	}
	return err
}
