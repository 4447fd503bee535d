package kernelfake

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
)

// script is what a test lays down for calls about things that K names, and what was called.
type script[K any] struct {
	mu    sync.Mutex
	errs  map[string]error
	hooks map[string]func()
	calls []string
}

func newScript[K any]() script[K] {
	return script[K]{errs: map[string]error{}, hooks: map[string]func(){}}
}

// key names a call of a method.
func key[K any](method string, of K) string { return fmt.Sprintf("%s(%v)", method, of) }

// Fail makes every later call of the method ("SetAffinity", "Hold", "WriteSetting", …) return
// errno; 0 ends that. Hold with ENOSYS is a kernel without pidfds.
func (s *script[K]) Fail(method string, of K, errno syscall.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.errs[key(method, of)] = errno; errno == 0 {
		delete(s.errs, key(method, of))
	}
}

// Before runs hook once, before the next call of the method takes effect.
func (s *script[K]) Before(method string, of K, hook func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks[key(method, of)] = hook
}

// Calls returns the calls that changed something, or tried to, in order, as
// "SetAffinity(12, 0-3)" or `/proc/irq/24/smp_affinity_list "0-3\n"`.
func (s *script[K]) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Changes returns how many Calls there were.
func (s *script[K]) Changes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

// enter is the common start of every call; it returns with the lock held.
func (s *script[K]) enter(method string, of K) error {
	s.mu.Lock()
	k := key(method, of)
	if hook := s.hooks[k]; hook != nil {
		delete(s.hooks, k)
		s.mu.Unlock()
		hook()
		s.mu.Lock()
	}
	if err := s.errs[k]; err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	return nil
}
