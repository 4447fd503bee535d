package kernelfake

import (
	"fmt"
	"io/fs"
	"maps"
	"syscall"

	"piton/internal/kernel"
)

var _ kernel.Files = (*Files)(nil)

// Files is a fake of kernel.Files: it holds files in memory, records what is
// written, and returns the errors that a test scripts. Its methods may be called
// from several goroutines.
type Files struct {
	script[string] // by path
	text           map[string]string
	// Store, when it is set, is what becomes of a text that is written, as a
	// kernel that cuts masks and rounds numbers up would keep it.
	Store func(path, text string) (string, error)
}

// NewFiles returns a fake without files.
func NewFiles() *Files {
	return &Files{script: newScript[string](), text: map[string]string{}}
}

// Put makes a file, or gives it another content as somebody else would.
func (f *Files) Put(path, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text[path] = text
}

// Remove takes a file away: calls about it give ENOENT from now on.
func (f *Files) Remove(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.text, path)
}

// All returns a copy of every file's content by its path.
func (f *Files) All() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.text)
}

// open is the common start of every call; it returns with the lock held.
func (f *Files) open(method, path string) error {
	err := f.enter(method, path)
	if _, ok := f.text[path]; !ok && err == nil {
		err = fmt.Errorf("%s: %w", key(method, path), syscall.ENOENT)
	}
	return err
}

// ReadSetting is part of kernel.Settings.
func (f *Files) ReadSetting(path string) (string, error) {
	err := f.open("ReadSetting", path)
	defer f.mu.Unlock()
	return f.text[path], err
}

// WriteSetting is part of kernel.SettingsWriter.
func (f *Files) WriteSetting(path, text string) error {
	err := f.open("WriteSetting", path)
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%s %q", path, text))
	if err == nil {
		var group bool
		if group, err = StoreGroup(f.text, path, text); group {
			return err
		}
	}
	if err == nil && f.Store != nil {
		text, err = f.Store(path, text)
	}
	if err != nil {
		return err
	}
	f.text[path] = text
	return nil
}

// Lacks is part of kernel.Settings: files whose reading or writing fails with EACCES lack
// the bits for it.
func (f *Files) Lacks(path string, perm fs.FileMode) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	method := "WriteSetting"
	if perm&0o444 != 0 {
		method = "ReadSetting"
	}
	return f.errs[key(method, path)] == syscall.EACCES
}
