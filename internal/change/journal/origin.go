package journal

import (
	"fmt"
	"slices"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
)

// Origin is what made an entry.
type Origin struct {
	Kind OriginKind `json:"kind"`
	CPUs cpuset.Set `json:"cpus,omitzero"`  // that it isolated; of ByInclude, that are isolated no longer
	Why  string     `json:"why,omitempty"`  // of ByGuard: why the guard reverted
	Rule bool       `json:"rule,omitempty"` // of ByTrial: a rule asked for it
}

// OfRules reports whether piton rules run made the entry.
func (o Origin) OfRules() bool { return o.Kind == ByRule || o.Rule }

// OriginKind is what kind of thing made an entry.
type OriginKind string

// The kinds.
const (
	ByUser    OriginKind = "user"
	ByIsolate OriginKind = "isolate"
	ByInclude OriginKind = "include"
	ByRule    OriginKind = "rule"    // of piton rules run
	ByGuard   OriginKind = "guard"   // the undo of a change that was not confirmed
	ByProfile OriginKind = "profile" // with CPUs, which it isolated among other things
	ByTrial   OriginKind = "trial"
	ByUndo    OriginKind = "undo"
)

// GuardCommand is the command of the entry that the guard of another one writes.
func GuardCommand(entry uint64, why string) string {
	return fmt.Sprintf("%s%d: %s", guardCommand, entry, why)
}

const guardCommand = "piton guard: revert entry "

// originOf2 derives the origin of a record of format 2, which has none, from its texts.
func originOf2(r *Record) Origin {
	if guard, ok := strings.CutPrefix(r.Command, guardCommand); ok {
		_, why, _ := strings.Cut(guard, ": ")
		return Origin{Kind: ByGuard, Why: why}
	}
	reasons := strings.Split(r.Reason, "; ")
	word, list, _ := strings.Cut(reasons[len(reasons)-1], " ")
	kind := OriginKind(word)
	cpus, err := cpuset.Parse(list)
	isolation := err == nil && !cpus.Empty() && (kind == ByIsolate || kind == ByInclude)
	switch {
	case len(r.Undoes) > 0:
		return Origin{Kind: ByUndo}
	case isolation && len(reasons) == 1:
		return Origin{Kind: kind, CPUs: cpus}
	case isolation && kind == ByIsolate:
		return Origin{Kind: ByProfile, CPUs: cpus}
	case strings.HasPrefix(r.Reason, "profile "):
		return Origin{Kind: ByProfile}
	case strings.HasPrefix(r.Reason, `rule "`):
		return Origin{Kind: ByRule}
	case slices.ContainsFunc(r.Changes, func(c attr.Change) bool { return len(c.Tried) > 0 }):
		return Origin{Kind: ByTrial}
	}
	return Origin{Kind: ByUser}
}
