package kernel

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Settings reads the small files below /proc and /sys through which the kernel is
// set. Errors wrap the syscall.Errno and name the path.
type Settings interface {
	// ReadSetting returns all that the file holds.
	ReadSetting(path string) (string, error)
	// Lacks reports whether the file's mode has none of the bits of perm: 0o222 of a file
	// that is read-only, 0o444 of one that is write-only, for root, too.
	Lacks(path string, perm fs.FileMode) bool
}

// SettingsWriter is the write side of Settings.
type SettingsWriter interface {
	// WriteSetting gives the text to the kernel in a single write(2): each one is
	// a setting of its own. The file must be there; none is ever created.
	WriteSetting(path, text string) error
}

// Files is both sides.
type Files interface {
	Settings
	SettingsWriter
}

// SystemFiles returns the Files of the running kernel.
func SystemFiles() Files { return files{} }

type files struct{}

// maxSetting bounds what is read: no file of a single setting is as long.
const maxSetting = 1 << 20

func (files) ReadSetting(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSetting))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return string(text), nil
}

func (files) WriteSetting(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

func (files) Lacks(path string, perm fs.FileMode) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&perm == 0
}
