package bench

import (
	"errors"
	"fmt"

	"piton/internal/kernel"
)

// AttachWorkload is the workload of a study of a process that was there before:
// its Args are the PID and the name, its Figure the rate.
const AttachWorkload = "attach"

// validateAttach says what is wrong with a study of a process. Its rate is not looked
// at: package runner knows the rates and looks when the study begins.
func (s Study) validateAttach() error {
	if len(s.Args) != 2 {
		return errors.New("a study of a process needs its PID and name")
	}
	if _, err := s.Attached(); err != nil {
		return err
	}
	if s.Period <= 0 {
		return errors.New("the period of a study of a process must be above 0")
	}
	return s.ValidateCounts()
}

// Attached is the process that a study is of.
func (s Study) Attached() (kernel.TID, error) {
	pid, ok := kernel.ParseTID(s.Args[0])
	if !ok {
		return 0, fmt.Errorf("%q is not a PID", s.Args[0])
	}
	return pid, nil
}
