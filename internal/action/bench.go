package action

import (
	"context"
	"errors"
	"fmt"

	"piton/internal/bench"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/topology"
	"piton/internal/tune"
)

// Placer places the processes of a benchmark as any process is placed. For those
// that end with their run the Tuner should have no journal, as there is nothing to
// undo; with one, Release takes the placement back. measure is asked for the
// machine's load when CPUs are to be chosen by it.
func Placer(t *tune.Tuner, topo *topology.Topology, measure func(context.Context) (*model.Model, error)) bench.PlaceFunc {
	return func(ctx context.Context, pid kernel.TID, spec bench.Spec) (bench.Placed, error) {
		want, err := ofSpec(spec, topo)
		if err != nil {
			return bench.Placed{}, err
		}
		var together aggregation
		if spec.Aggregate {
			if together, err = aggregate(&want); err != nil {
				return bench.Placed{}, err
			}
		}
		if want.Empty() {
			return bench.Placed{}, nil
		}
		out, err := placeProcess(ctx, Deps{Tuner: t}, pid, want, measure)
		if err != nil {
			return bench.Placed{}, errors.Join(err, together.release())
		}
		if spec.CPUs != "" {
			out.Reason = "as asked"
		}
		return together.with(out), nil
	}
}

// placeProcess places one process and says where it is now.
func placeProcess(ctx context.Context, d Deps, pid kernel.TID, want Tuning, measure func(context.Context) (*model.Model, error)) (bench.Placed, error) {
	var err error
	if want.Strategy != "" {
		if d.Model, err = measure(ctx); err != nil {
			return bench.Placed{}, err
		}
	}
	plan, choices, err := Plan(ctx, d, []tune.Target{{TID: pid}}, want)
	if err != nil {
		return bench.Placed{}, err
	}
	plan.Yes = true // whoever names fifo as a placement has said so
	result, err := d.Tuner.Apply(ctx, plan)
	var out bench.Placed
	if err == nil {
		out, err = placed(result, choices)
	}
	if result.Entry == 0 {
		return out, err
	}
	undo := func() error {
		_, err := d.Tuner.Undo(context.WithoutCancel(ctx), tune.UndoRequest{IDs: []uint64{result.Entry}})
		return err
	}
	if err != nil {
		return bench.Placed{}, errors.Join(err, undo())
	}
	out.Release = undo
	return out, nil
}

// ofSpec is the Tuning that a placement asks for.
func ofSpec(spec bench.Spec, topo *topology.Topology) (Tuning, error) {
	t := Tuning{Strategy: spec.Strategy, Nice: spec.Nice}
	if spec.Policy != nil {
		t.Policy = &tune.PolicySetting{Policy: spec.Policy.Policy, RTPrio: spec.Policy.RTPrio}
	}
	if spec.CPUs == "" {
		return t, nil
	}
	var err error
	t.CPUs, err = topology.ParseCPUs(spec.CPUs, topo)
	return t, err
}

// placed says where the process is now, or what could not be set.
func placed(r tune.Result, choices []place.Choice) (bench.Placed, error) {
	var out bench.Placed
	for _, c := range r.Changes {
		if c.Status == tune.Failed || c.Status == tune.Refused {
			return out, fmt.Errorf("%s %s: %s", c.Attribute, c.After, c.Reason)
		}
		if c.Attribute == tune.Affinity {
			out.CPUs = c.After
		}
	}
	if len(choices) > 0 {
		out.Reason = choices[0].Reason
	}
	return out, nil
}
