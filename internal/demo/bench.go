package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/paper"
	"piton/internal/sample"
	"piton/workloads"
)

// runner makes up the runs of a study. The process that runs is one of the machine, so
// that it is seen among the others and can be tuned.
type runner struct{ *Machine }

// speeds are what a placement does to a run, as a share of its time when the kernel
// chooses the CPU.
var speeds = map[bench.Placement]float64{"normal": 1, "least-loaded": 0.84, "fifo:10": 0.81, "rr:10": 0.82, "spread": 0.9, "pack": 1.12}

// usual is how long a run of any workload takes on this machine, in seconds.
const usual = 0.62

// made makes up one run of the machine's nth study: the same one each time.
func made(nth int, study bench.Study, p bench.Placement, index int) bench.RunResult {
	h := fnv.New64a()
	fmt.Fprint(h, nth, study.Workload, study.Args, p, index)
	noise := rand.New(rand.NewPCG(h.Sum64(), 1)).NormFloat64()
	spread := 0.015
	if p == bench.Normal {
		spread = 0.06 // where the kernel moves it
	}
	seconds := usual * cmp.Or(speeds[p], 1) * (1 + spread*max(-2, min(noise, 2)))
	run := bench.RunResult{Workload: study.Workload, Placement: p, Index: index, Metric: seconds, Seconds: seconds,
		Wall: time.Duration(seconds * 1.004e9), User: time.Duration(seconds * 0.97e9), System: time.Duration(seconds * 0.02e9),
		MigrationSource: sample.SourceBPF.String(), HaveRunDelay: true, RunDelay: time.Duration(seconds * 0.01e9), Threads: 1,
		HaveOthers: true, Others: 0.01, Answer: "73712", MaxRSSBytes: 3 << 20, Voluntary: 9, Involuntary: 31}
	if p == bench.Normal {
		run.Migrations, run.RunDelay = uint64(40+12*(noise+3)), time.Duration(seconds*0.09e9)
	}
	return run
}

// Run is part of benchview.Runner.
func (r runner) Run(ctx context.Context, study bench.Study, on func(bench.Event)) (bench.Results, error) {
	out := bench.Results{ID: r.clock().UTC().Format("20060102T150405Z") + "-made0up0", Started: r.clock(), Study: study.Canonical(), Conditions: conditions()}
	return r.rounds(ctx, out, study.Runs+study.Warmup, on)
}

// Extend is part of benchview.Runner. The runs that it makes up do not spread less.
func (r runner) Extend(ctx context.Context, out bench.Results, on func(bench.Event)) (bench.Results, error) {
	out.Runs = slices.Clone(out.Runs)
	return r.rounds(ctx, out, out.Rounds()+out.Study.Runs, on)
}

// rounds makes up the rounds that a study lacks.
func (r runner) rounds(ctx context.Context, out bench.Results, rounds int, on func(bench.Event)) (bench.Results, error) {
	study, nth, total := out.Study, r.studied(), rounds*len(out.Study.Placements)
	for round := out.Rounds(); round < rounds; round++ {
		for _, p := range study.Placements {
			done := len(out.Runs)
			run := made(nth, study, p, max(round-study.Warmup, bench.WarmupIndex))
			t := r.begin(study.Workload, p)
			run.PID, run.Started = t.TID, r.clock()
			if p != bench.Normal {
				run.CPUs = fmt.Sprint(t.LastCPU)
			}
			e := bench.Event{Study: out.ID, Run: run, Done: done, Total: total, HaveLeft: true,
				Left: time.Duration(float64(total-done) * usual * float64(time.Second))}
			on(e)
			err := r.wait(ctx, run.Wall)
			r.over(t)
			if err != nil {
				return out, fmt.Errorf("run the study: %w", err)
			}
			out.Runs = append(out.Runs, run)
			e.Ended, e.Done = true, done+1
			on(e)
		}
	}
	r.keep(out)
	return out, nil
}

// Trial is part of benchview.Runner.
func (r runner) Trial(_ context.Context, study bench.Study) (bench.Results, error) {
	study = study.Canonical()
	return bench.Results{Study: study, Runs: []bench.RunResult{made(0, study, bench.Normal, 0)}}, nil
}

// wait waits for the end of a run.
func (m *Machine) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.closed:
		return context.Canceled
	case <-time.After(d):
		return nil
	}
}

func (m *Machine) clock() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count.Began.Add(m.count.Now)
}

// begin starts a workload's process.
func (m *Machine) begin(workload string, p bench.Placement) *task {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.user("balu", session, workload, "piton bench "+workload, 1, 0, 0, 3)
	if p != bench.Normal {
		t.Affinity = cpuset.Of(m.idlest(t, m.all().CPUs()))
	}
	if spec, err := bench.ParsePlacement(string(p)); err == nil && spec.Policy != kernel.Other {
		t.Policy, t.RTPrio = spec.Policy, uint8(spec.RTPrio)
	}
	m.add(t)
	return t
}

func (m *Machine) over(t *task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byTID[t.TID] == t {
		m.end(t)
	}
}

// studied is how many studies there are.
func (m *Machine) studied() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.studies)
}

// keep adds a study to those of the past, or more runs to one of them.
func (m *Machine) keep(r bench.Results) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.studies, func(old bench.Results) bool { return old.ID == r.ID }); i >= 0 {
		m.studies[i] = r
		return
	}
	m.studies = append(m.studies, r)
}

// Read is part of benchview.Store.
func (r runner) Read() (store.History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return store.History{Studies: append([]bench.Results(nil), r.studies...)}, nil
}

func conditions() bench.Conditions {
	return bench.Conditions{Host: Host, Kernel: "6.18.5-demo", CPUModel: "made up", Governor: "performance", SMT: "on"}
}

// pastStudies are the results that the machine begins with.
func (m *Machine) pastStudies() []bench.Results {
	var out []bench.Results
	for day, workload := range []string{"nqueens", "matrix", "nqueens"} {
		w, err := workloads.Find(workload)
		if err != nil {
			continue
		}
		study := bench.Study{Workload: w.Name, Placements: []bench.Placement{bench.Normal, "least-loaded", "fifo:10"}, Runs: 10}.Canonical()
		began := m.count.Began.Add(time.Duration(day-4) * 23 * time.Hour)
		r := bench.Results{ID: began.UTC().Format("20060102T150405Z") + "-made0up0", Started: began, Study: study, Conditions: conditions()}
		for i := range study.Runs {
			for _, p := range study.Placements {
				run := made(day, study, p, i)
				run.PID, run.Started = kernel.TID(3000+10*i), began
				began = began.Add(run.Wall + 50*time.Millisecond)
				r.Runs = append(r.Runs, run)
			}
		}
		out = append(out, r)
	}
	return out
}

// noPapers are published studies: their tables are not made up.
type noPapers struct{}

// Run is part of benchview.Papers.
func (noPapers) Run(context.Context, []paper.Paper, time.Duration, func(paper.Progress)) (bench.Grid, []bench.Results, string, error) {
	return bench.Grid{}, nil, "", errors.New("published studies run on a real machine only: piton bench paper")
}
