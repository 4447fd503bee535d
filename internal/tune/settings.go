package tune

import (
	"strconv"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Settings is what to set; nil means leave as it is.
type Settings struct {
	Affinity *cpuset.Set
	Nice     *int
	Policy   *PolicySetting
	IOPrio   *kernel.IOPrio
	Slice    *time.Duration // EEVDF's, 0.1 to 100 ms; 0 = the kernel's default
	Clamp    *ClampSetting
	Cookie   *CookieSetting
	// MemoryFollows moves the process's pages to the nodes of Affinity, or of the
	// CPUs that it may use already.
	MemoryFollows bool
}

// PolicySetting is a scheduling policy to set.
type PolicySetting struct {
	Policy      kernel.Policy
	RTPrio      int // 1..99 for FIFO and RR, else 0
	ResetOnFork bool
	// Keep: each task keeps its policy, FIFO or RR, and gets RTPrio; Policy is not
	// looked at.
	Keep bool
	// Of DEADLINE: it runs for Runtime of each Period, by Deadline after its start.
	Runtime, Deadline, Period time.Duration
	// Reclaim: a DEADLINE task also runs in the time that others of its kind leave.
	Reclaim bool
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
	for _, add := range []func() (wanted, error){
		s.affinity, s.memory, s.nice, s.slice, s.clamp, s.ioPrio, s.cookie, s.policy,
	} {
		w, err := add()
		if err != nil {
			return nil, err
		}
		if w.attribute != "" {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return nil, usagef("nothing to set")
	}
	return out, nil
}

func (s Settings) affinity() (wanted, error) {
	switch {
	case s.Affinity == nil:
		return wanted{}, nil
	case s.Affinity.Empty():
		return wanted{}, usagef("the list of CPUs is empty: a task needs at least one")
	}
	return wanted{Affinity, s.Affinity.String()}, nil
}

// memory's value is CPUs until prepare knows the process: those whose nodes the
// pages go to, "" for its own.
func (s Settings) memory() (wanted, error) {
	switch {
	case !s.MemoryFollows:
		return wanted{}, nil
	case s.Affinity == nil:
		return wanted{Memory, ""}, nil
	}
	return wanted{Memory, s.Affinity.String()}, nil
}

func (s Settings) nice() (wanted, error) {
	if s.Nice == nil {
		return wanted{}, nil
	}
	return wanted{Nice, strconv.Itoa(*s.Nice)}, validateNice(*s.Nice)
}

func (s Settings) slice() (wanted, error) {
	if s.Slice == nil {
		return wanted{}, nil
	}
	return wanted{Slice, formatSlice(*s.Slice)}, validateSlice(*s.Slice)
}

func (s Settings) clamp() (wanted, error) {
	if s.Clamp == nil {
		return wanted{}, nil
	}
	return wanted{Clamp, s.Clamp.String()}, s.Clamp.validate()
}

func (s Settings) ioPrio() (wanted, error) {
	if s.IOPrio == nil {
		return wanted{}, nil
	}
	return wanted{IOPrio, FormatIOPrio(*s.IOPrio)}, validateIOPrio(*s.IOPrio)
}

func (s Settings) cookie() (wanted, error) {
	if s.Cookie == nil {
		return wanted{}, nil
	}
	return wanted{Cookie, s.Cookie.String()}, nil
}

func (s Settings) policy() (wanted, error) {
	if s.Policy == nil {
		return wanted{}, nil
	}
	return wanted{Policy, s.Policy.String()}, s.Policy.validate()
}
