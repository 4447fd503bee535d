// Package feature asks the running kernel what piton may do with it: each probe
// tries the smallest real operation, and says what is missing if it is refused.
// It changes nothing.
//
// Start at All and Feature.Probe.
package feature

import (
	"errors"
	"sync"
)

// ErrNotSupported is what a probe's error is (errors.Is) when the kernel or the
// caller's rights do not allow a feature.
var ErrNotSupported = errors.New("not supported here")

// Missing is an error that Is ErrNotSupported and names what would help.
type Missing struct {
	Feature string // what is not there: "per-CPU migration counters"
	Needs   string // "CAP_PERFMON or kernel.perf_event_paranoid ≤ 0"
	Err     error  // what the kernel answered, may be nil
}

func (m *Missing) Error() string { return m.Feature + ": needs " + m.Needs }

// Is makes errors.Is(err, ErrNotSupported) true.
func (m *Missing) Is(target error) bool { return target == ErrNotSupported }

// Unwrap returns the kernel's answer.
func (m *Missing) Unwrap() error { return m.Err }

// Feature is one thing that some kernels or users do not have.
type Feature struct {
	ID  string // "perf-migrations"
	try func() error

	mu    sync.Mutex
	known bool
	err   error
}

// New makes a feature of a package above this one, which tries it there.
func New(id string, try func() error) *Feature {
	return &Feature{ID: id, try: try}
}

// Probe returns nil when the feature is there, an error that Is ErrNotSupported
// when it is not, and any other error when that could not be told. The first
// two answers are kept.
func (f *Feature) Probe() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known {
		return f.err
	}
	err := f.try()
	if err == nil || errors.Is(err, ErrNotSupported) {
		f.known, f.err = true, err
	}
	return err
}

// All lists the features in the order of the pages that show them.
func All() []*Feature { return all }

var all = []*Feature{
	{ID: "process-clock", try: tryProcessClock},
	{ID: "schedstat", try: trySchedstat},
	{ID: "sched", try: trySched},
	{ID: "perf-migrations", try: tryPerfMigrations},
	{ID: "counters", try: tryCounters},
	{ID: "tune-others", try: tryTuneOthers},
	{ID: "read-others", try: tryReadOthers},
	{ID: "slice", try: trySlice},
	{ID: "uclamp", try: tryClamp},
	{ID: "core-sched", try: tryCookie},
	{ID: "policy-ext", try: trySchedExt},
	{ID: "numa", try: tryNUMA},
}
