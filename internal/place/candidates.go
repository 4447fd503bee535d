package place

import (
	"errors"
	"fmt"

	"piton/internal/cpuset"
)

// limit is where a target can be put.
type limit struct {
	slots   []int
	warning string
	err     error // why there is no slot
}

// candidates are the slots that a target may use: its cpuset, online, within
// the user's limit, not isolated unless nothing else is left or it was asked
// for, and without a busy real-time task, behind which it would starve.
func (b *board) candidates(t *Target) limit {
	online := b.topo.Online
	allowed := t.Allowed.And(online)
	switch {
	case t.Allowed.Empty():
		return limit{err: errors.New("its cpuset leaves it no CPU")}
	case allowed.Empty():
		return limit{err: fmt.Errorf("no CPU that it may use (%s) is online (online: %s)", t.Allowed, online)}
	}
	if !b.within.Empty() {
		switch inside := allowed.And(b.within); {
		case b.within.And(online).Empty():
			return limit{err: fmt.Errorf("no CPU of %s is online (online: %s)", b.within, online)}
		case inside.Empty():
			return limit{err: fmt.Errorf("its cpuset leaves no CPU of %s, it may use %s", b.within, allowed)}
		default:
			allowed = inside
		}
	}
	out := limit{}
	if !b.isolated {
		if ordinary := allowed.AndNot(b.topo.Isolated); !ordinary.Empty() {
			allowed = ordinary
		} else {
			out.warning = fmt.Sprintf("only isolated CPUs are left (%s)", allowed)
		}
	}
	out.slots, out.err = b.usable(allowed)
	return out
}

// usable are the slots of a set without those of busy real-time tasks.
func (b *board) usable(allowed cpuset.Set) ([]int, error) {
	var out []int
	rt := false
	for i := range b.slots {
		switch s := &b.slots[i]; {
		case !allowed.Has(s.cpu.ID):
		case s.load.RTBusy:
			rt = true
		default:
			out = append(out, i)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case rt:
		return nil, fmt.Errorf("a busy real-time task runs on each of %s, it would starve there", allowed)
	}
	return nil, fmt.Errorf("the load of %s has not been measured", allowed)
}
