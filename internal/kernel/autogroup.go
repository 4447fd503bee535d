package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

func autogroupFile(pid TID) string { return fmt.Sprintf("/proc/%d/autogroup", pid) }

// Autogroup reads "/autogroup-12 nice 0\n" (proc_pid_autogroup(5)).
func (system) Autogroup(pid TID) (int, error) {
	data, err := os.ReadFile(autogroupFile(pid))
	switch {
	case errors.Is(err, syscall.ENOENT):
		if _, gone := os.Stat(fmt.Sprintf("/proc/%d", pid)); gone != nil {
			return 0, fmt.Errorf("autogroup of %d: %w", pid, syscall.ESRCH)
		}
		return 0, fmt.Errorf("autogroup of %d: %w", pid, syscall.ENOTSUP)
	case err != nil:
		return 0, fmt.Errorf("autogroup of %d: %w", pid, err)
	}
	words := bytes.Fields(data)
	if len(words) != 3 { // tasks of the root group read as nothing
		return 0, fmt.Errorf("autogroup of %d: %w", pid, syscall.ENOTSUP)
	}
	nice, err := strconv.Atoi(string(words[2]))
	if err != nil {
		return 0, fmt.Errorf("autogroup of %d: %w", pid, err)
	}
	return nice, nil
}

func (system) SetAutogroup(pid TID, nice int) error {
	f, err := os.OpenFile(autogroupFile(pid), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("autogroup of %d: %w", pid, err)
	}
	_, err = f.WriteString(strconv.Itoa(nice))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("set the autogroup of %d to nice %d: %w", pid, nice, err)
	}
	return nil
}
