package tune

import (
	"errors"
	"io/fs"

	"piton/internal/cpuset"
	"piton/internal/irq"
)

// file plans the change of one file. The error is a UsageError for a setting
// that is none.
func (p *planner) file(s FileSetting) error {
	f, err := fileOf(s.Attribute, s.Path)
	if err != nil {
		return err
	}
	c := Change{Attribute: s.Attribute, Path: s.Path, Name: s.Name, Status: Planned}
	if c.After, err = f.canonical(s.Value); err != nil {
		return usagef("%s of %s: %v", f.title, c.Object(), err)
	}
	if err = p.t.identify(&c); err == nil {
		c.Before, err = p.t.read(c)
	}
	switch {
	case err != nil:
		c.Status, c.Err = Refused, p.t.markOf(c, err)
		c.Reason = p.t.explain(c, err)
		if absentFile(err) && c.Attribute != IRQAffinity && c.Attribute != AutogroupNice {
			c.Err = markedError{c.Err, ErrNotSupported}
		}
	case c.Before == c.After:
		c.Status = Unchanged
	case f.cpus:
		p.fileCPUs(&c)
	}
	p.add(c)
	return nil
}

// fileCPUs refuses what the kernel is known to refuse: lines that cannot be
// routed, and CPUs that are not there.
func (p *planner) fileCPUs(c *Change) {
	if c.Attribute == IRQAffinity {
		if control := irq.New(p.t.o.Proc.Root()).Control(lineOf(c.Path)); control == irq.Managed || control == irq.Fixed {
			refuse(c, "%s", control.Why())
			c.Err = ErrNotSupported
			return
		}
	}
	want, _ := cpuset.Parse(c.After)
	had, _ := cpuset.Parse(c.Before)
	online, err := p.online()
	switch {
	case err != nil || want.SubsetOf(online):
	case want.And(online).Empty():
		refuse(c, "%s", absent(want, online))
	case !want.SubsetOf(online.Or(had)): // those that it has already are no news
		p.warn("%s: %s", c.Object(), absent(want.AndNot(online), online))
	}
}

// ErrNotSupported is what the error of a change is (errors.Is) that cannot be
// made on this machine, whatever the rights: a managed interrupt, a sysctl that
// this kernel lacks.
var ErrNotSupported = errors.New("not supported here")

// absentFile reports whether a file, or what it is of, is not there.
func absentFile(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrGone) }

// withLine plans for a handler's thread whose interrupt line is in the plan as
// well: it stays if that stays, and since Linux 7 the kernel alone moves it.
func (p *planner) withLine(k task, c *Change) bool {
	line, ok := irq.ThreadLine(k.comm)
	i, planned := p.index[changeKey{attribute: IRQAffinity, path: irq.AffinityFile(line)}]
	switch {
	case !ok || !planned:
		return false
	case p.plan.Changes[i].Status == Refused:
		refuse(c, "its interrupt stays where it is: %s", p.plan.Changes[i].Reason)
	case k.flags&flagNoSetAffinity != 0:
		c.After, c.Status, c.Reason = c.Before, Unchanged, "the kernel moves it with its interrupt"
	default:
		return false
	}
	return true
}
