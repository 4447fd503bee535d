package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/bench/runner"
	"piton/internal/change"
	"piton/internal/change/attr"
)

const (
	// holdTime is how often it is looked whether everything is as it should be, and chosen
	// anew where the policy chooses.
	holdTime = time.Second
	// steerSettle is how long flows take to get to another CPU: what was under way is read, and
	// a flow is known to programs from its first read.
	steerSettle = 500 * time.Millisecond
	// steerSlack is how long the guard leaves a steering that is not over in its time.
	steerSlack = 30 * time.Second
	// LongestSteering is for how long packets are steered at most: a guard waits a day.
	LongestSteering = 23 * time.Hour
)

// Run steers until the time is over, ctx ends or all processes have ended, which are no errors;
// 0 is LongestSteering. It tells what is seen once the packets are steered. In any case everything is as it was before
// then, also if piton is killed.
func (s *Steering) Run(ctx context.Context, within time.Duration, tell func(after Seen)) error {
	if within == 0 {
		within = LongestSteering
	}
	err := s.trial(ctx, within+steerSettle+LookTime, func(ctx context.Context, put putCandidate) (string, error) {
		timed, end := context.WithTimeout(ctx, within)
		defer end()
		if err := put(true); err != nil {
			return "", err
		}
		if err := runner.Pause(ctx, steerSettle); err != nil {
			return "", err
		}
		after, err := s.Look(ctx, LookTime) // also where the time is shorter
		if err != nil {
			return "", err
		}
		tell(after)
		found := fmt.Sprintf("%sirq follow, %s by %s: before %s, then %.0f %%", s.By, s.Policy, s.Way, s.Before, 100*after.share(after.SameCPU))
		for runner.Pause(timed, holdTime) == nil {
			if err := put(true); s.Ended {
				break
			} else if err != nil {
				return found, err
			}
		}
		return found, nil
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// putCandidate sets what steers, or what was there before.
type putCandidate func(on bool) error

// trial lets body set what steers; afterwards everything is as it was before.
func (s *Steering) trial(ctx context.Context, within time.Duration, body func(context.Context, putCandidate) (found string, err error)) error {
	if s.set == nil {
		return s.hooked(ctx, body)
	}
	var ended error
	try := func(ctx context.Context, set change.SetCandidate) (found string, err error) {
		put := func(on bool) error {
			if err := s.here(); err != nil {
				return err
			}
			candidate := 0
			if on {
				candidate = 1
			}
			if on && s.picker != nil {
				var err error
				if candidate, err = s.picker.pick(); err != nil {
					return err
				}
			}
			return set(change.All(candidate))
		}
		found, ended = body(ctx, put)
		return found, ended
	}
	out, err := s.tuner.Try(ctx, s.trialPlan, change.Confirmation{RevertAfter: within + steerSlack}, try)
	i := slices.IndexFunc(out.Changes, func(c change.Change) bool {
		return (c.Status == attr.Failed || c.Status == attr.Refused) && !c.Gone()
	})
	switch {
	case i >= 0 && ended == nil && err == nil:
		return notSet{out.Changes[i]}
	case i >= 0 && !errors.Is(err, change.ErrOvertaken):
		return errors.Join(err, notSet{out.Changes[i]})
	case i < 0 && ended != nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%w; everything is as it was before", err)
	}
	return err
}
