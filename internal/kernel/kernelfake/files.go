package kernelfake

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"syscall"

	"piton/internal/kernel"
)

var _ kernel.Files = (*Files)(nil)

// Files is a fake of kernel.Files: it holds files in memory, records what is
// written, and returns the errors that a test scripts. Its methods may be called
// from several goroutines.
type Files struct {
	mu    sync.Mutex
	text  map[string]string
	errs  map[string]error
	hooks map[string]func()
	calls []string
	// Store, when it is set, is what becomes of a text that is written, as a
	// kernel that cuts masks and rounds numbers up would keep it.
	Store func(path, text string) (string, error)
}

// NewFiles returns a fake without files.
func NewFiles() *Files {
	return &Files{text: map[string]string{}, errs: map[string]error{}, hooks: map[string]func(){}}
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

// Fail makes every later call of the method ("ReadSetting", "WriteSetting") on
// the path return errno; 0 ends that.
func (f *Files) Fail(method, path string, errno syscall.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.errs[method+" "+path] = errno; errno == 0 {
		delete(f.errs, method+" "+path)
	}
}

// Before runs hook once, before the next call of the method on the path takes
// effect.
func (f *Files) Before(method, path string, hook func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks[method+" "+path] = hook
}

// Calls returns what was written, or tried to be, in order, as
// `/proc/irq/24/smp_affinity_list "0-3\n"`.
func (f *Files) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// enter is the common start of every call; it returns with the lock held.
func (f *Files) enter(method, path string) error {
	f.mu.Lock()
	k := method + " " + path
	if hook := f.hooks[k]; hook != nil {
		delete(f.hooks, k)
		f.mu.Unlock()
		hook()
		f.mu.Lock()
	}
	if err := f.errs[k]; err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	if _, ok := f.text[path]; !ok {
		return fmt.Errorf("%s: %w", k, syscall.ENOENT)
	}
	return nil
}

// ReadSetting is part of kernel.Settings.
func (f *Files) ReadSetting(path string) (string, error) {
	err := f.enter("ReadSetting", path)
	defer f.mu.Unlock()
	return f.text[path], err
}

// WriteSetting is part of kernel.SettingsWriter.
func (f *Files) WriteSetting(path, text string) error {
	err := f.enter("WriteSetting", path)
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%s %q", path, text))
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
	method := "WriteSetting "
	if perm&0o444 != 0 {
		method = "ReadSetting "
	}
	return f.errs[method+path] == syscall.EACCES
}
