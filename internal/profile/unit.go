package profile

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/change/attr/share"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// UnitSettings is a process with what it would have to be started with.
type UnitSettings struct {
	PID     kernel.TID
	Comm    string
	Cgroup  string
	CPUs    cpuset.Set
	AllCPUs bool // CPUs is every CPU that is online
	Nice    int
	Policy  attr.PolicyValue
	IOPrio  kernel.IOPrio
	// Memory is the memory policy of most of its mappings as /proc/PID/numa_maps
	// has it, "bind:1"; "" for none of its own.
	Memory string
	// Weight and Quota are those of the unit's own control group; nil where it has none.
	Weight, Quota attr.Value
	// Others are its threads that have other values than the first, in words.
	Others []string
}

// SettingsOf gathers a process's settings. memory is what NumaPolicy returned.
func SettingsOf(s *State, pid kernel.TID, memory string) (UnitSettings, error) {
	i := slices.IndexFunc(s.Tasks, func(t *sample.Task) bool { return t.TID == pid && t.IsProcess() && t.ID != nil })
	if i < 0 {
		return UnitSettings{}, fmt.Errorf("there is no process %d", pid)
	}
	t := s.Tasks[i]
	p := UnitSettings{
		PID: pid, Comm: t.ID.Comm, Cgroup: t.ID.Cgroup, CPUs: t.Affinity,
		Nice: int(t.Nice), IOPrio: t.IOPrio, Memory: memory,
	}
	p.AllCPUs = p.CPUs.And(s.online()).Equal(s.online())
	p.Policy, _ = s.policy(t)
	p.Weight, p.Quota = s.ofUnit(t, attr.Weight), s.ofUnit(t, attr.Quota)
	if t.IsKernel() {
		return p, fmt.Errorf("%d (%s) is a kernel thread, which nothing starts", pid, comment(t.ID.Comm))
	}
	first := s.words(t)
	for i := range s.Tasks {
		if o := s.Tasks[i]; o.TGID == pid && o.TID != pid && o.ID != nil && s.words(o) != first {
			p.Others = append(p.Others, fmt.Sprintf("%s: %s", comment(o.ID.Comm), s.words(o)))
		}
	}
	slices.Sort(p.Others)
	p.Others = slices.Compact(p.Others)
	return p, nil
}

// ofUnit is what the control group of a process has, if that is its unit's own.
func (s *State) ofUnit(t *sample.Task, a attr.Attribute) attr.Value {
	unit, _, err := unitOf(t.ID.Cgroup)
	if err != nil || s.Group == nil {
		return nil
	}
	usual := map[attr.Attribute]attr.Value{attr.Weight: share.Weight{Idle: true}, attr.Quota: share.Quota{None: true, Keep: true}}
	c := s.Group(t.TGID, attr.Setting{Attribute: a, Value: usual[a]})
	if path.Base(c.Group()) != unit {
		return nil
	}
	return c.Before
}

// words are a thread's settings.
func (s *State) words(t *sample.Task) string {
	policy, _ := s.policy(t)
	out := []string{"CPUs " + t.Affinity.String(), fmt.Sprintf("nice %d", t.Nice), policy.String()}
	if t.Have&sample.HaveIOPrio != 0 {
		out = append(out, "I/O "+attr.IOPrioValue(t.IOPrio).String())
	}
	return strings.Join(out, ", ")
}

// SameSettings reports whether two processes would be started alike.
func SameSettings(a, b UnitSettings) bool {
	return a.CPUs.Equal(b.CPUs) && a.Nice == b.Nice && a.Policy == b.Policy && a.IOPrio == b.IOPrio && a.Memory == b.Memory &&
		attr.Text(a.Weight) == attr.Text(b.Weight) && attr.Text(a.Quota) == attr.Text(b.Quota)
}

// ErrNoUnit is for a process that no service of systemd started.
var ErrNoUnit = errors.New("it belongs to no service of systemd, which alone can have such settings")

// unitOf is the systemd service of a cgroup, and whether it is one of a user's own
// manager (systemd.unit(5); a scope is started by others, and has no settings of
// execution). A name that begins with a dash or a dot is left alone: the name becomes an
// argument and a directory.
func unitOf(cgroup string) (name string, user bool, err error) {
	unit, own := procfs.UnitOf(cgroup)
	name = cmp.Or(own, unit)
	switch {
	case cgroup == "":
		return "", false, fmt.Errorf("it is in no control group: %w", ErrNoUnit)
	case name == "":
		return "", false, fmt.Errorf("its cgroup is %s: %w", comment(cgroup), ErrNoUnit)
	case !strings.HasSuffix(name, ".service"):
		return "", false, fmt.Errorf("its unit %s is a %s: %w", name, name[strings.LastIndexByte(name, '.')+1:], ErrNoUnit)
	case name[0] == '-' || name[0] == '.':
		return "", false, fmt.Errorf("its unit %s begins with a dash or a dot: %w", name, ErrNoUnit)
	}
	return name, own != "", nil
}

// NumaPolicy is the policy that most mappings of a process have, given each
// mapping's (numa(7)); "" for the default.
func NumaPolicy(policies []string) string {
	votes := map[string]int{}
	best := "default"
	for _, p := range policies {
		votes[p]++
		if votes[p] > votes[best] {
			best = p
		}
	}
	if best == "default" {
		return ""
	}
	return best
}
