package profile

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
)

// Requests is what makes the machine as wanted: processes first, with the
// threads that they will have, then single threads, then files. A process of
// which nothing drifted is in none. Blocked wants are in none either; Blocked has
// them.
func (r *Resolution) Requests(reason string) []change.Request {
	drifted := map[kernel.TID]bool{}
	for i := range r.Wants {
		if w := &r.Wants[i]; w.TID != 0 && w.Blocked == "" && !w.OK() {
			drifted[w.PID] = true
		}
	}
	whole, single := r.byTask(drifted)
	var out []change.Request
	at := map[string]int{} // targets with equal settings share one
	for _, t := range slices.Concat(whole, single) {
		key := fmt.Sprint(t.target.Scope, t.set)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, change.Request{Set: t.set, Reason: reason})
		}
		out[i].Targets = append(out[i].Targets, t.target)
	}
	var files []attr.FileSetting
	for i := range r.Wants {
		if w := &r.Wants[i]; w.Path != "" && w.Blocked == "" && !w.OK() {
			files = append(files, attr.SetFile(w.Attribute, w.Path, w.Name, w.Expected))
		}
	}
	if len(files) > 0 {
		out = append(out, change.Request{Files: files, Reason: reason})
	}
	return out
}

// taskWants are the values of one process with all of its threads, or of one thread.
type taskWants struct {
	target change.Target
	set    []attr.Setting
}

// add puts a setting in the place of its attribute: the last one counts.
func (t *taskWants) add(s attr.Setting) {
	i, found := slices.BinarySearchFunc(t.set, s, func(a, b attr.Setting) int { return cmp.Compare(a.Attribute, b.Attribute) })
	if found {
		t.set[i] = s
	} else {
		t.set = slices.Insert(t.set, i, s)
	}
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
			t = &taskWants{target: change.Target{TID: k.tid, Scope: change.ScopeThread}}
			known[k] = t
			if w.whole {
				t.target.Scope = change.ScopeProcess
				whole = append(whole, t)
			} else {
				single = append(single, t)
			}
		}
		t.add(attr.Setting{Attribute: w.Attribute, Value: w.Expected})
	}
	for _, t := range known {
		t.target.StartTicks = starts[t.target.TID]
	}
	return whole, single
}

// Blocked returns what cannot be had on this machine, as changes that are refused.
func (r *Resolution) Blocked() []change.Change {
	var out []change.Change
	for i := range r.Wants {
		if w := &r.Wants[i]; w.Blocked != "" && !w.OK() {
			var err error
			if w.absent {
				err = attr.ErrNotSupported
			}
			c := change.Change{
				Object:    attr.Object{PID: w.PID, TID: w.TID, StartTicks: w.StartTicks, Path: w.Path},
				Attribute: w.Attribute, Before: w.Actual, After: w.Expected, Status: attr.Refused, Err: err, Reason: w.Blocked,
			}
			if w.Path == "" {
				c.Comm = w.Name
			} else {
				c.Object.Name = w.Name
			}
			out = append(out, c)
		}
	}
	return out
}
