package change

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/defect"
)

// Danger is why a plan must not be carried out unasked.
type Danger uint8

// The dangers, the gravest first.
const (
	OwnRealTime  Danger = iota // piton itself becomes real-time
	NoCPULeft                  // every CPU would have a busy real-time task
	NoWayBack                  // only a reboot undoes it
	WholeMachine               // a pattern means most of the machine's processes
	BusyRealTime               // a busy task becomes real-time, and has its CPU for itself
	Isolation                  // CPUs are taken away from everything else
)

// AskFirst reports whether the user decides before the change is made. The others
// may be made at once under a countdown.
func (d Danger) AskFirst() bool { return d <= WholeMachine }

// Need is a danger of a plan, with the sentence that says what it is here.
type Need struct {
	Danger Danger `json:"danger"`
	Text   string `json:"text"`
}

// Confirmation is what the user said of a plan.
type Confirmation struct {
	Yes bool `json:"yes,omitempty"` // told its needs, the user wants it all the same
	// RevertAfter, when not 0, is how long the change stays unless it is confirmed.
	RevertAfter time.Duration `json:"revert_after_ns,omitempty"`
}

// ErrNeedsConfirmation is what Apply's error is (errors.Is) for a plan with needs to which
// the user has not confirmed. Nothing was changed.
var ErrNeedsConfirmation = errors.New("refused")

// ConfirmationError is the error with the needs.
type ConfirmationError struct {
	Needs  []Need
	OneWay bool // no guard could revert it, or not all of it
}

func (e *ConfirmationError) Error() string {
	text := fmt.Sprintf("refused: %s; --yes does it anyway", e.Needs[0].Text)
	if e.OneWay {
		return text
	}
	return text + ", --revert-after 15s reverts it unless piton keep confirms it"
}

// Is reports that it is ErrNeedsConfirmation.
func (e *ConfirmationError) Is(target error) bool { return target == ErrNeedsConfirmation }

// longestRevert bounds RevertAfter: far below what a guard's clock can count to.
const longestRevert = 24 * time.Hour

// Check returns a ConfirmationError for a plan that the confirmation does not cover, and a
// UsageError for a time that no guard waits.
func (c Confirmation) Check(p Plan) error {
	if defect.On(12) {
		return nil
	}
	if c.RevertAfter < 0 || c.RevertAfter > longestRevert {
		return attr.Usagef("a change is reverted after at most %v, not %v", longestRevert, c.RevertAfter)
	}
	if len(p.Needs) == 0 || !p.WillChange() || c.Yes || c.RevertAfter > 0 { // what no guard could revert is not made under one
		return nil
	}
	return &ConfirmationError{p.Needs, p.OneWay()}
}

// AsksFirst reports whether the user must decide before the plan is carried out.
func (p Plan) AsksFirst() bool {
	return p.WillChange() && slices.ContainsFunc(p.Needs, func(n Need) bool { return n.Danger.AskFirst() })
}

// Danger is the sentence of the plan's first need, "" if there is none.
func (p Plan) Danger() string {
	if len(p.Needs) == 0 {
		return ""
	}
	return p.Needs[0].Text
}

// Need adds a need, the gravest first.
func (p *Plan) Need(d Danger, format string, args ...any) {
	p.Needs = append(p.Needs, Need{d, fmt.Sprintf(format, args...)})
	slices.SortStableFunc(p.Needs, func(a, b Need) int { return cmp.Compare(a.Danger, b.Danger) })
}

// OneWay reports whether the plan warns that there is no way back.
func (p Plan) OneWay() bool {
	return slices.ContainsFunc(p.Warnings, func(w Warning) bool { return w.Kind == attr.OneWay }) ||
		slices.ContainsFunc(p.Needs, func(n Need) bool { return n.Danger == NoWayBack })
}

// several names the first few of many.
func several(names []string) string {
	const shown = 3
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
