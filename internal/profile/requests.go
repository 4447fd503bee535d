package profile

import (
	"fmt"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/tune"
)

// Requests is what makes the machine as wanted: processes first, with the
// threads that they will have, then single threads, then files. A process of
// which nothing drifted is in none. Blocked wants are in none either; Blocked has
// them.
func (r *Resolution) Requests(reason string) ([]tune.Request, error) {
	b := builder{reason: reason, at: map[string]int{}}
	drifted := map[kernel.TID]bool{}
	for i := range r.Wants {
		if w := &r.Wants[i]; w.TID != 0 && w.Blocked == "" && !w.OK() {
			drifted[w.PID] = true
		}
	}
	whole, single := r.byTask(drifted)
	for _, group := range [][]*taskWants{whole, single} {
		for _, t := range group {
			if err := b.task(t); err != nil {
				return nil, err
			}
		}
	}
	var files []tune.FileSetting
	for i := range r.Wants {
		if w := &r.Wants[i]; w.Path != "" && w.Blocked == "" && !w.OK() {
			files = append(files, tune.FileSetting{Attribute: w.Attribute, Path: w.Path, Name: w.Name, Value: w.Expected})
		}
	}
	if len(files) > 0 {
		b.requests = append(b.requests, tune.Request{Files: files, Reason: reason})
	}
	return b.requests, nil
}

// taskWants are the values of one process with all of its threads, or of one thread.
type taskWants struct {
	target tune.Target
	values map[tune.Attribute]string
}

// byTask collects the wants of the drifted processes, in the order in which they
// came. What is wanted of a process as a whole is wanted of threads to come too.
func (r *Resolution) byTask(drifted map[kernel.TID]bool) (whole, single []*taskWants) {
	type key struct {
		tid   kernel.TID
		whole bool
	}
	known, starts := map[key]*taskWants{}, map[kernel.TID]uint64{}
	for i := range r.Wants {
		w := &r.Wants[i]
		if w.TID != 0 {
			starts[w.TID] = w.StartTicks
		}
		if w.TID == 0 || !drifted[w.PID] || w.Blocked != "" {
			continue
		}
		k := key{w.TID, w.whole}
		if w.whole {
			k.tid = w.PID
		}
		t := known[k]
		if t == nil {
			t = &taskWants{tune.Target{TID: k.tid, Scope: tune.ScopeThread}, map[tune.Attribute]string{}}
			known[k] = t
			if w.whole {
				t.target.Scope = tune.ScopeProcess
				whole = append(whole, t)
			} else {
				single = append(single, t)
			}
		}
		t.values[w.Attribute] = w.Expected
	}
	for _, t := range known {
		t.target.StartTicks = starts[t.target.TID]
	}
	return whole, single
}

// builder joins targets with equal settings to one request.
type builder struct {
	reason   string
	requests []tune.Request
	at       map[string]int
}

func (b *builder) task(t *taskWants) error {
	key := fmt.Sprint(t.target.Scope, t.values) // fmt prints maps in the order of their keys
	i, ok := b.at[key]
	if !ok {
		settings, err := settingsOf(t.values)
		if err != nil {
			return err
		}
		i = len(b.requests)
		b.at[key] = i
		b.requests = append(b.requests, tune.Request{Settings: settings, Reason: b.reason})
	}
	b.requests[i].Targets = append(b.requests[i].Targets, t.target)
	return nil
}

func settingsOf(values map[tune.Attribute]string) (tune.Settings, error) {
	var s tune.Settings
	for attribute, text := range values {
		var err error
		switch attribute {
		case tune.Affinity:
			var set cpuset.Set
			set, err = cpuset.Parse(text)
			s.Affinity = &set
		case tune.Nice:
			var n int
			n, err = tune.ParseNice(text)
			s.Nice = &n
		case tune.IOPrio:
			var prio kernel.IOPrio
			prio, err = tune.ParseIOPrio(text)
			s.IOPrio = &prio
		case tune.Slice:
			var slice time.Duration
			slice, err = tune.ParseSlice(text)
			s.Slice = &slice
		case tune.Clamp:
			var clamp tune.ClampSetting
			clamp, err = tune.ParseClamp(text)
			s.Clamp = &clamp
		case tune.Policy:
			var policy tune.PolicySetting
			policy, err = tune.ParsePolicy(text)
			s.Policy = &policy
		}
		if err != nil {
			return s, fmt.Errorf("%s %s: %w", attribute, text, err)
		}
	}
	return s, nil
}

// Blocked returns what cannot be had on this machine, as changes that are refused.
func (r *Resolution) Blocked() []tune.Change {
	var out []tune.Change
	for i := range r.Wants {
		if w := &r.Wants[i]; w.Blocked != "" && !w.OK() {
			var err error
			if w.absent {
				err = tune.ErrNotSupported
			}
			out = append(out, tune.Change{
				PID: w.PID, TID: w.TID, StartTicks: w.StartTicks, Comm: w.comm(), Path: w.Path, Name: w.file(),
				Attribute: w.Attribute, Before: w.Actual, After: w.Expected, Status: tune.Refused, Err: err, Reason: w.Blocked,
			})
		}
	}
	return out
}

func (w *Want) comm() string {
	if w.Path != "" {
		return ""
	}
	return w.Name
}

func (w *Want) file() string {
	if w.Path == "" {
		return ""
	}
	return w.Name
}
