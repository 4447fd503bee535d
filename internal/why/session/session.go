// Package session observes why a target waits for a CPU, span by span: through eBPF where that can
// run, else from files. Start at Open.
package session

import (
	"piton/internal/bpf/waits"
	"piton/internal/procfs"
	"piton/internal/watch"
	"piton/internal/why"
	"piton/internal/why/facts"
)

// Source knows what a target's waits were for.
type Source interface {
	Read() (why.Observation, error) // since the last Read
	Close()
}

// OpenSource opens the source that knows causes; its error says what is lacking. Tests put in
// another.
var OpenSource = func(t watch.Targets) (Source, error) {
	many, err := OpenMany(t)
	if err != nil {
		return nil, err
	}
	return one{many}, nil
}

// one is a source of one target.
type one struct{ Many }

// Read is what happened since the last one.
func (o one) Read() (of why.Observation, err error) {
	all, err := o.Many.Read()
	if err == nil {
		of = all[0]
	}
	return of, err
}

// Many knows what the waits of several targets were for; package waits says of a task of more than
// one whose it is.
type Many interface {
	Watch(targets ...watch.Targets) error // others from now on; those that stay go on
	Read() ([]why.Observation, error)     // since the last Read or Watch, for each target
	Close()
}

// MostOfMany is how many targets it takes.
const MostOfMany = waits.MostTargets

// OpenMany opens one; its error says what is lacking. Tests put in another.
var OpenMany = func(targets ...watch.Targets) (Many, error) {
	w, err := waits.Open(inKernel(targets)...)
	if err != nil {
		return nil, err
	}
	return many{w}, nil
}

type many struct{ *waits.Watcher }

// Watch is that of the watcher.
func (m many) Watch(targets ...watch.Targets) error { return m.Watcher.Watch(inKernel(targets)...) }

// inKernel are targets as the watcher takes them.
func inKernel(targets []watch.Targets) (out []waits.Targets) {
	for _, t := range targets {
		of := waits.Targets{Groups: t.Groups, Children: t.Scope == watch.Tree}
		if t.Scope == watch.Thread {
			of.Threads = t.IDs
		} else {
			of.Processes = t.IDs
		}
		out = append(out, of)
	}
	return out
}

// Session observes one target until Close.
type Session struct {
	Lacking error // why causes are not known, nil where they are
	source  Source
	reader  *facts.Reader
}

// Open begins to observe; the error is that of the first file which is needed.
func Open(fs procfs.FS, t watch.Targets) (*Session, error) {
	s := &Session{}
	s.source, s.Lacking = OpenSource(t)
	var err error
	if s.reader, err = facts.Open(fs, t); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Look is to be called each facts.Every; left is whether there still is a thread.
func (s *Session) Look() (left bool, err error) { return s.reader.Look() }

// Take is what happened since the last Take, or Open, and what is known of the target.
func (s *Session) Take() (o why.Observation, t *why.Target, err error) {
	if _, err = s.reader.Look(); err != nil {
		return o, nil, err
	}
	o = s.reader.Observe()
	if s.Lacking == nil {
		threads := o.Threads
		if o, err = s.source.Read(); err != nil {
			return o, nil, err
		}
		o.Threads = max(o.Threads, threads) // some may have ended
	}
	if t = s.reader.Target(&o); s.Lacking != nil {
		t.Lacking = s.Lacking.Error()
	}
	s.reader.Restart()
	return o, t, nil
}

// Close ends observing.
func (s *Session) Close() {
	if s.Lacking == nil {
		s.source.Close()
	}
}
