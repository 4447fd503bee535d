package action

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"piton/internal/bench"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/topology"
)

// Placer places the processes of a benchmark as any process is placed. For those
// that end with their run the Tuner should have no journal, as there is nothing to
// undo; with one, Release undoes the placement. measure is asked for the
// machine's load when CPUs are to be chosen by it.
func Placer(t *change.Tuner, topo *topology.Topology, measure func(context.Context) (*model.Model, error)) bench.PlaceFunc {
	return func(ctx context.Context, pid kernel.TID, spec bench.Spec) (bench.Placed, error) {
		want, err := ofSpec(spec, topo)
		if err != nil {
			return bench.Placed{}, err
		}
		together, release := "", nothingToUndo
		if spec.Aggregate {
			if together, release, err = Aggregate(&want); err != nil {
				return bench.Placed{}, err
			}
		}
		if want.Empty() {
			return bench.Placed{}, nil
		}
		out, err := placeProcess(ctx, Deps{Tuner: t}, pid, want, measure)
		if spec.CPUs != "" {
			out.Reason = "as asked"
		}
		if err != nil {
			return bench.Placed{}, errors.Join(err, release())
		}
		undo := out.Release
		out.Reason = strings.Trim(out.Reason+"; "+together, "; ")
		out.Release = func() error { return errors.Join(undo(), release()) }
		return out, nil
	}
}

// Aggregate has the threads of what is placed run together in time. The laboratory has it.
var Aggregate = func(*Tuning) (reason string, release func() error, err error) {
	return "", nil, errors.New("this piton is built without it")
}

func nothingToUndo() error { return nil }

// placeProcess places one process and says where it is now.
func placeProcess(ctx context.Context, d Deps, pid kernel.TID, want Tuning, measure func(context.Context) (*model.Model, error)) (bench.Placed, error) {
	var err error
	if want.Strategy != "" {
		if d.Model, err = measure(ctx); err != nil {
			return bench.Placed{}, err
		}
	}
	plan, err := d.Plan(ctx, Request{Targets: []change.Target{{TID: pid}}, Tuning: want})
	if err != nil {
		return bench.Placed{}, err
	}
	outcome, err := d.Apply(ctx, plan.Plan, change.Confirmation{Yes: true}) // whoever names fifo as a placement has confirmed it
	var out bench.Placed
	if err == nil {
		out, err = placed(outcome, plan.Choices)
	}
	undo := nothingToUndo
	if outcome.Entry != 0 {
		undo = func() error {
			_, err := d.Tuner.Undo(context.WithoutCancel(ctx), change.UndoRequest{IDs: []uint64{outcome.Entry}})
			return err
		}
	}
	if err != nil {
		return bench.Placed{}, errors.Join(err, undo())
	}
	out.Release = undo
	return out, nil
}

// ofSpec is the Tuning that a placement asks for.
func ofSpec(spec bench.Spec, topo *topology.Topology) (Tuning, error) {
	t := Tuning{Strategy: spec.Strategy}
	if spec.Nice != nil {
		t.Set = append(t.Set, attr.SetNice(*spec.Nice))
	}
	if spec.Policy != kernel.Other {
		t.Set = append(t.Set, attr.SetPolicy(attr.PolicyValue{Policy: spec.Policy, RTPrio: spec.RTPrio}))
	}
	if spec.CPUs == "" {
		return t, nil
	}
	cpus, err := topology.ParseCPUs(spec.CPUs, topo)
	t.Set = append(t.Set, attr.SetAffinity(cpus))
	return t, err
}

// placed says where the process is now, or what could not be set.
func placed(o change.Outcome, choices []place.Choice) (bench.Placed, error) {
	var out bench.Placed
	if c, bad := o.FirstBad(); bad {
		return out, fmt.Errorf("%s: %s", strings.TrimSpace(fmt.Sprint(c.Attribute, " ", attr.Text(c.After))), c.Why())
	}
	for _, c := range o.Changes {
		if c.Attribute == attr.Affinity {
			out.CPUs = attr.Text(c.After)
		}
	}
	if len(choices) > 0 {
		out.Reason = choices[0].Reason
	}
	return out, nil
}
