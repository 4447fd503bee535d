package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/lab/stripnet"
	"piton/internal/sample"
	stripiowork "piton/workloads/stripio"
)

// Deliverer makes the cells of sais: a network of servers, in which the ways of delivery are
// compared, interleaved, in periods of traffic. The order of each round is random.
//
// All of a cell is one trial of the change path: the one setting of the machine that an arm
// changes, RFS's flow table, is journalled, and a guard restores it if piton is killed. All
// else is files of the network's namespace, which end with it.
type Deliverer struct {
	Runner *runner.Runner
	Tuner  *change.Tuner // nil leaves out RFS, for the reason in Refused
	// Refused is why there is no Tuner.
	Refused error
}

// Check finds out in one step whether there can be a network here.
func (*Deliverer) Check() error {
	n, err := stripnet.New(1)
	if err == nil {
		n.Close()
	}
	return explainNetwork(err)
}

const (
	deliveryClients = 2 // that no one pins
	settleTraffic   = 100 * time.Millisecond
	// aroundPeriod is what else a period takes: connections, processes, and the arm.
	aroundPeriod = 120 * time.Millisecond
	// A cell makes so many rounds at least, which is what an interval takes, and at most.
	leastDelivered, mostDelivered = 6, 40
	// wantedDelivered is how many rounds the length of a period leaves room for.
	wantedDelivered = 10
)

// trafficPeriods are the lengths of a period. The last is a few ticks of /proc/stat.
var trafficPeriods = []time.Duration{time.Second, 700 * time.Millisecond, 400 * time.Millisecond}

// deliveryTime is how long an arm is in force once.
func deliveryTime(period time.Duration) time.Duration { return period + settleTraffic + aroundPeriod }

// Cell makes a cell; see Maker.
func (d *Deliverer) Cell(ctx context.Context, study bench.Study, within time.Duration, tell func(bench.RunResult)) ([]bench.RunResult, error) {
	values, err := stripnet.Workload.Parse(study.Args)
	if err != nil {
		return nil, err
	}
	c := &deliveryCell{Deliverer: d, study: study, tell: tell, load: stripnet.Load{Clients: deliveryClients, Settle: settleTraffic, PaceMBs: values.Int("pace")},
		found: delivered{Servers: values.Int("servers"), PaceMBs: values.Int("pace"), LeftOut: map[string]string{}}}
	for _, c.load.Period = range trafficPeriods {
		if c.rounds(within) >= wantedDelivered {
			break
		}
	}
	within = max(within, leastDelivered*c.roundTime())
	if limit, ok := ctx.Deadline(); ok && time.Until(limit) < within {
		if within = time.Until(limit) - c.roundTime()/2; c.rounds(within) < 2 {
			return nil, errNoTime
		}
	}
	until := time.Now().Add(within)
	cpus, err := kernel.System().Affinity(0)
	if err != nil {
		return nil, fmt.Errorf("find the CPUs to use: %w", err)
	}
	c.found.CPUs = cpus.Len()
	if costs, err := stripiowork.MeasureCosts(kernel.System(), cpus.CPUs()); err != nil {
		c.found.CostsWhy = err.Error()
	} else {
		c.found.Costs = &costs
	}
	net, err := stripnet.New(c.found.Servers)
	if err != nil {
		return nil, explainNetwork(err)
	}
	defer net.Close()
	err = c.withFlowTable(ctx, within, &delivery{net: net, cpus: cpus.CPUs()}, func(ctx context.Context, d *delivery) error {
		return c.compare(ctx, d, until)
	})
	return c.runs, err
}

type deliveryCell struct {
	*Deliverer
	study bench.Study
	load  stripnet.Load
	tell  func(bench.RunResult)
	found delivered
	runs  []bench.RunResult
}

// delivered is the Detail of the run of a cell that does not count.
type delivered struct {
	Servers  int                `json:"servers"`
	PaceMBs  int                `json:"pace_mb_per_second"`
	CPUs     int                `json:"cpus"`
	Costs    *stripiowork.Costs `json:"costs,omitempty"` // P and M; nil for the reason in CostsWhy
	CostsWhy string             `json:"costs_why,omitempty"`
	LeftOut  map[string]string  `json:"left_out,omitempty"` // arms that this machine does not have, and why
}

func (c *deliveryCell) roundTime() time.Duration {
	return time.Duration(len(c.study.Placements)) * deliveryTime(c.load.Period)
}

func (c *deliveryCell) rounds(within time.Duration) int { return int(within / c.roundTime()) }

// flowTableSlack is how long a cell that is not over in its time is left to end by itself. On
// a loaded machine the least rounds take far longer than planned; ctx ends them. A piton that
// is killed does not wait for it: the guard sees that at once.
const flowTableSlack = time.Minute

// flowTableLimit is after how long the guard reverts in any case.
func flowTableLimit(ctx context.Context, within time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		within = max(within, time.Until(end))
	}
	return min(within+flowTableSlack, 24*time.Hour)
}

// withFlowTable lets body set RFS's table, in a trial. Where there is no trial, body runs without; also
// where the table is there already: then nothing is changed.
func (c *deliveryCell) withFlowTable(ctx context.Context, within time.Duration, d *delivery, body func(context.Context, *delivery) error) error {
	without := func(why error) error {
		d.rfs = func(on bool) error {
			if on {
				return why
			}
			return nil
		}
		return body(ctx, d)
	}
	if c.Tuner == nil {
		return without(c.Refused)
	}
	var ended error
	file := attr.SetFile(attr.RFSEntries, irq.FlowEntriesFile, "net.core.rps_sock_flow_entries", attr.Count(rfsFlows))
	requests := []change.Request{{Files: []attr.FileSetting{file}, Reason: "tried by bench paper sais"}}
	plan, err := c.Tuner.PlanTrial(ctx, [][]change.Request{requests})
	if err != nil {
		return without(err)
	}
	if bad, refused := plan.Preview().FirstBad(); refused {
		return without(errors.New(bad.Why()))
	}
	if !plan.WillChange() {
		return without(nil)
	}
	try := func(ctx context.Context, set change.SetCandidate) (string, error) {
		d.rfs = func(on bool) error {
			if on {
				return set(change.All(1))
			}
			return set(change.All(0))
		}
		ended = body(ctx, d)
		return "bench paper sais: the setting was tried only", ended
	}
	out, err := c.Tuner.Try(ctx, plan, change.Confirmation{RevertAfter: flowTableLimit(ctx, within)}, try)
	if bad, refused := out.FirstBad(); refused && err == nil && ended == nil {
		return errors.New(bad.Why())
	}
	if errors.Is(err, ended) {
		return err
	}
	return errors.Join(err, ended)
}

func (c *deliveryCell) compare(ctx context.Context, d *delivery, until time.Time) error {
	began := time.Now()
	order := slices.Clone(deliveryArms)
	longest := c.roundTime() // a slow machine takes longer to start processes
	for round := range mostDelivered {
		limit, limited := ctx.Deadline()
		if round >= leastDelivered && time.Until(until) < longest || round > 0 && limited && time.Until(limit) < longest {
			break
		}
		start := time.Now()
		rand.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		for _, arm := range order {
			if err := c.one(ctx, d, arm, round); err != nil {
				return err
			}
		}
		longest = max(longest, time.Since(start))
	}
	detail, err := json.Marshal(c.found)
	c.runs = append(c.runs, bench.RunResult{Workload: c.study.Workload, Placement: bench.Placement(deliveryArms[0].name), Index: bench.WarmupIndex,
		Started: began, Wall: time.Since(began), Reason: "costs", Detail: detail})
	return err
}

func (c *deliveryCell) one(ctx context.Context, d *delivery, arm deliveryArm, round int) error {
	if _, out := c.found.LeftOut[arm.name]; out {
		return nil
	}
	run := bench.RunResult{Workload: c.study.Workload, Placement: bench.Placement(arm.name), Index: round, Started: time.Now(), Reason: arm.meaning}
	c.tell(run)
	off, err := arm.on(ctx, d)
	var late error
	if off != nil && (err != nil || ctx.Err() != nil) {
		late = off() // of what it has put in force so far
	}
	switch {
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), late)
	case errors.Is(err, change.ErrOvertaken), errors.Is(err, change.ErrTooLate), errors.Is(err, change.ErrUndone), errors.Is(err, attr.ErrGone):
		return errors.Join(err, late) // the trial is over
	case err != nil:
		c.found.LeftOut[arm.name] = err.Error()
		return late
	}
	load := c.load
	load.Started = d.started
	r, err := d.net.Measure(ctx, stripnet.Command(c.Runner.Command), load)
	if late := off(); late != nil {
		return fmt.Errorf("end %s: %w", arm.name, errors.Join(late, err))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	run.Wall, run.Seconds, run.Metric = time.Since(run.Started), r.Seconds, r.MBs
	run.Answer = "whole" // the sum of each strip was right, or it would have failed
	if run.Detail, _ = json.Marshal(r); r.HaveMigrations {
		run.Migrations, run.MigrationSource = r.Migrations, sample.SourceSched.String()
	}
	if err != nil { // nothing may arrive in this way: the others go on
		run.Err, run.Answer = err.Error(), ""
		c.found.LeftOut[arm.name] = run.Err
	}
	c.runs = append(c.runs, run)
	return nil
}
