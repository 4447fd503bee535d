package tune

import (
	"strconv"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// attribute reads and writes one attribute of a thread as text, the form that
// plans, the journal and JSON share.
type attribute struct {
	read  func(s kernel.Scheduler, tid kernel.TID) (string, error)
	write func(s kernel.Scheduler, tid kernel.TID, value string) error
}

var attributes = map[Attribute]attribute{
	Affinity: {readAffinity, writeAffinity},
	Nice:     {readNice, writeNice},
	Policy:   {readPolicy, writePolicy},
	IOPrio:   {readIOPrio, writeIOPrio},
}

func readAffinity(s kernel.Scheduler, tid kernel.TID) (string, error) {
	mask, err := s.Affinity(tid)
	return mask.String(), err
}

func writeAffinity(s kernel.Scheduler, tid kernel.TID, value string) error {
	mask, err := cpuset.Parse(value)
	if err != nil {
		return err
	}
	return s.SetAffinity(tid, mask)
}

func readNice(s kernel.Scheduler, tid kernel.TID) (string, error) {
	nice, err := s.Nice(tid)
	return strconv.Itoa(nice), err
}

func writeNice(s kernel.Scheduler, tid kernel.TID, value string) error {
	nice, err := ParseNice(value)
	if err != nil {
		return err
	}
	return s.SetNice(tid, nice)
}

func readPolicy(s kernel.Scheduler, tid kernel.TID) (string, error) {
	attr, err := s.Attr(tid)
	return formatPolicy(attr), err
}

func writePolicy(s kernel.Scheduler, tid kernel.TID, value string) error {
	attr, err := parsePolicy(value)
	if err != nil {
		return err
	}
	if attr.Policy == kernel.Deadline {
		return s.SetAttr(tid, attr)
	}
	return s.SetPolicy(tid, attr.Policy, attr.RTPrio, attr.ResetOnFork)
}

func readIOPrio(s kernel.Scheduler, tid kernel.TID) (string, error) {
	prio, err := s.IOPrio(tid)
	return FormatIOPrio(prio), err
}

func writeIOPrio(s kernel.Scheduler, tid kernel.TID, value string) error {
	prio, err := ParseIOPrio(value)
	if err != nil {
		return err
	}
	return s.SetIOPrio(tid, prio)
}

// wanted is one attribute with the value to give it.
type wanted struct {
	attribute Attribute
	value     string
}

// list checks the settings and returns them in the order in which they are
// made: the CPU first and the policy last, so that a task which becomes
// real-time does so on its new CPU and not on somebody else's.
func (s Settings) list() ([]wanted, error) {
	var out []wanted
	if s.Affinity != nil {
		if s.Affinity.Empty() {
			return nil, usagef("the list of CPUs is empty: a task needs at least one")
		}
		out = append(out, wanted{Affinity, s.Affinity.String()})
	}
	if s.Nice != nil {
		if err := validateNice(*s.Nice); err != nil {
			return nil, err
		}
		out = append(out, wanted{Nice, strconv.Itoa(*s.Nice)})
	}
	if s.IOPrio != nil {
		if err := validateIOPrio(*s.IOPrio); err != nil {
			return nil, err
		}
		out = append(out, wanted{IOPrio, FormatIOPrio(*s.IOPrio)})
	}
	if s.Policy != nil {
		if err := s.Policy.validate(); err != nil {
			return nil, err
		}
		out = append(out, wanted{Policy, s.Policy.String()})
	}
	if len(out) == 0 {
		return nil, usagef("nothing to set")
	}
	return out, nil
}

// describe is the attribute with its value as a sentence has it: "nice 5".
func describe(a Attribute, value string) string {
	switch a {
	case Affinity:
		if cpus, err := cpuset.Parse(value); err == nil {
			return cpuText(cpus)
		}
	case IOPrio:
		return "I/O priority " + value
	}
	return string(a) + " " + value
}
