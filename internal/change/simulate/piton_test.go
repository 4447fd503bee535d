package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/guard"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// piton is what one run of piton is to do.
type piton struct {
	namespaces
	its     *world
	disk    *disk
	weak    bool // it has no rights
	seccomp bool // it has no pidfds

	wishes       []wish
	confirmation change.Confirmation
	danger       bool       // it needs confirmation, whatever its tasks do
	isolates     cpuset.Set // of a sweep
	planned      int        // the step at which its plan was made
	carried      int        // the step at which it began to carry that out
	undoes       bool
	tries        bool
	armed        []*guardian
}

// launch makes the pitons of the history. Each comes at a time of its own, when there
// are not too many.
func (w *world) launch() {
	for i := range w.fate.pitons {
		p := &piton{its: w, disk: w.disks[w.rng.IntN(len(w.disks))]}
		if w.fate.foreign && w.rng.IntN(2) == 0 {
			p.inner = w.rng.IntN(2) == 0
			if !p.inner || w.rng.IntN(2) == 0 {
				p.shift = 100_000
			}
		}
		if w.fate.weak {
			p.weak, p.seccomp = w.rng.IntN(2) == 0, w.rng.IntN(3) == 0
		}
		delay := time.Duration(w.rng.IntN(1+w.rng.IntN(3_000))) * time.Millisecond
		a := w.spawn(fmt.Sprintf("piton %d", i+1), func(a *actor) {
			a.wait(w.now+delay, nil)
			a.wait(never, func() bool { return w.running < w.fate.together })
			w.running++
			a.ends = append(a.ends, func() { w.running-- })
			a.began = w.steps
			a.live()
		})
		a.piton = p
		w.pitons = append(w.pitons, p)
	}
}

// live is the life of a piton.
func (a *actor) live() {
	switch n := a.rng.IntN(14); {
	case n < 6:
		a.request()
	case n < 7:
		a.matchAll()
	case n < 8:
		a.keep()
	case n < 10:
		a.trial()
	default:
		a.undo(a.undoRequest())
	}
}

// where is what the journal's records say of the process.
func (a *actor) where() journal.Where {
	ns := journal.Namespaces{PID: 1, Time: 1 + a.shift, User: 1, Mount: 1}
	if a.inner {
		ns.PID = 2
	}
	return journal.Where{Boot: fmt.Sprint("boot ", a.boot), Namespaces: ns}
}

// clock is the time as one process has it: changes of the machine's clock before it
// started are in it; those after it are not, as in the monotonic part of a time.Time.
type clock struct {
	*actor
	ahead time.Duration
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (c clock) Now() time.Time        { return epoch.Add(c.now + c.ahead) }
func (c clock) Sleep(d time.Duration) { c.wait(c.world.now+d, nil) }

// setCommand is the command of what is asked for, the only one that may be standing.
const setCommand = "piton set"

func (a *actor) tuner(command string, journalled bool) *change.Tuner {
	v := view{a}
	its := clock{a, a.wall}
	o := change.Options{
		Sources: attr.Sources{Sched: v, Files: v, Proc: v.proc(), EUID: v.euid, Rights: v.rights, Limits: v.limits, Initial: func(string) bool { return true }, Inode: v.Inode},
		Writer:  v, FileWriter: v, Lock: userLock{a}, User: "user", Command: command, Clock: its, Daemon: a.fate.standing && command == setCommand,
	}
	if journalled {
		o.Journal = journal.New(&store{disk: a.disk, a: a}, a.where())
		o.Journal.Now = its.Now
		if a.fate.standing {
			o.Journal.Gone = func(e *change.Entry) bool { return history.Ended(v.proc(), e) }
		}
		if a.fate.compacts {
			o.Journal.CompactAt, o.Journal.KeepEntries = 2_000, 2
		}
	}
	if a.guard == nil {
		o.Guards = guards{a.launcher(), a}
	}
	return change.New(o)
}

func (a *actor) launcher() guard.Launcher { return a.sentry.Launcher(a.disk.name) }

// request changes tasks and files.
func (a *actor) request() {
	var requests []change.Request
	scopes := []change.Scope{change.ScopeProcess, change.ScopeThread, change.ScopeTree}
	taken := map[*task]bool{}
	for range 1 + a.rng.IntN(2) {
		t := a.some(func(t *task) bool { return !t.gone && (view{a}).number(t) != 0 && !taken[t.leader] })
		if t == nil {
			break
		}
		taken[t.leader] = true
		target := change.Target{TID: view{a}.number(t), Scope: scopes[a.rng.IntN(len(scopes))]}
		set := a.settings()
		if a.fate.groups {
			set = a.groupSettings(set)
		}
		asked := wish{target: target, set: set}
		if a.rng.IntN(2) == 0 {
			asked.target.StartTicks, asked.meant = t.start+a.shift, t
		}
		a.wishes = append(a.wishes, asked)
		requests = append(requests, change.Request{Targets: []change.Target{asked.target}, Set: set})
	}
	if a.rng.IntN(4) == 0 || len(requests) == 0 {
		kind := fileKinds[a.rng.IntN(len(fileKinds))]
		f := attr.SetFile(kind.attribute, kind.path, "", kind.values[a.rng.IntN(len(kind.values))])
		a.wishes = append(a.wishes, wish{file: &f})
		requests = append(requests, change.Request{Files: []attr.FileSetting{f}})
	}
	t := a.tuner(setCommand, true)
	if a.fate.groups && a.rng.IntN(3) == 0 {
		at, i := groupPaths[a.rng.IntN(len(groupPaths))], a.rng.IntN(len(groupAttributes))
		if o, err := t.GroupAt(at, groupAttributes[i]); err == nil {
			f := attr.SetFile(groupAttributes[i], o.Path, o.Name, groupValues[i][a.rng.IntN(len(groupValues[i]))])
			a.wishes = append(a.wishes, wish{file: &f})
			requests = append(requests, change.Request{Files: []attr.FileSetting{f}})
		}
	}
	a.confirmation.Yes = a.rng.IntN(3) == 0
	if a.rng.IntN(3) == 0 {
		a.confirmation.RevertAfter = time.Duration(100+a.rng.IntN(2_000)) * time.Millisecond
	}
	if a.fate.standing {
		a.confirmation = change.Confirmation{Yes: true} // once for all
	}
	a.log("asks for %+v, confirmation %+v", a.wishes, a.confirmation)
	if a.fate.standing {
		a.carried = a.steps
		outcome, err := t.ApplyAsDaemon(interruptible{context.Background(), a}, requests)
		if a.judge(outcome, err); err == nil {
			a.fulfilled(outcome)
		}
		return
	}
	plan, err := t.Plan(interruptible{context.Background(), a}, requests)
	a.planned = a.steps
	a.log("has a plan")
	if err != nil {
		a.log("no plan: %v", err)
		return
	}
	if a.rng.IntN(10) == 0 {
		a.danger = true
		plan.Need(change.WholeMachine, "the targets are most of the machine")
	}
	outcome, err := a.applyPlan(t, plan)
	if err == nil {
		a.fulfilled(outcome)
	}
	a.answer(outcome.Guard)
}

// settings are some of a task.
func (a *actor) settings() (set []attr.Setting) {
	for i, attribute := range attributes {
		if a.rng.IntN(len(attributes)) == 0 {
			set = append(set, attr.Setting{Attribute: attribute, Value: taskValues[i][a.rng.IntN(len(taskValues[i]))]})
		}
	}
	if len(set) == 0 {
		set = []attr.Setting{{Attribute: attr.Affinity, Value: taskValues[0][a.rng.IntN(len(taskValues[0]))]}}
	}
	return set
}

// groupSettings adds some of the task's control group, and may leave out its own.
func (a *actor) groupSettings(set []attr.Setting) []attr.Setting {
	if a.rng.IntN(2) == 0 {
		return set
	}
	if a.rng.IntN(2) == 0 {
		set = nil
	}
	first := a.rng.IntN(len(groupAttributes))
	for i := first; i < len(groupAttributes) && (i == first || a.rng.IntN(2) == 0); i++ {
		set = append(set, attr.Setting{Attribute: groupAttributes[i], Value: groupValues[i][a.rng.IntN(len(groupValues[i]))]})
	}
	return set
}

// trial tries settings of a task in turn, as piton auto does.
func (a *actor) trial() {
	t := a.some(func(t *task) bool { return !t.gone && (view{a}).number(t) != 0 })
	if t == nil {
		return
	}
	target := change.Target{TID: view{a}.number(t), StartTicks: t.start + a.shift, Scope: change.ScopeProcess}
	candidates := make([][]change.Request, 1+a.rng.IntN(3))
	for i := range candidates {
		set := a.settings()
		a.wishes = append(a.wishes, wish{target: target, set: set, meant: t})
		candidates[i] = []change.Request{{Targets: []change.Target{target}, Set: set}}
	}
	a.tries = true
	a.confirmation = change.Confirmation{RevertAfter: time.Duration(100+a.rng.IntN(3_000)) * time.Millisecond}
	tuner := a.tuner("piton auto", true)
	a.log("tries %+v, confirmation %+v", a.wishes, a.confirmation)
	try := func(ctx context.Context, set change.SetCandidate) (string, error) {
		for range a.rng.IntN(8) {
			candidate := a.rng.IntN(len(candidates) + 1)
			err := set(change.All(candidate))
			a.log("candidate %d: %v", candidate, err)
			if err != nil {
				return "", err
			}
			if a.wait(a.world.now+time.Duration(a.rng.IntN(200))*time.Millisecond, nil); ctx.Err() != nil {
				return "", ctx.Err()
			}
		}
		return "", nil
	}
	plan, err := tuner.PlanTrial(interruptible{context.Background(), a}, candidates)
	a.planned = a.steps
	a.log("has a plan")
	if err != nil {
		a.log("no plan: %v", err)
		return
	}
	a.carried = a.steps
	a.judge(tuner.Try(interruptible{context.Background(), a}, plan, a.confirmation, try))
}

// answer decides about the change, or leaves that to the guard.
func (a *actor) answer(g change.Guard) {
	if g == nil || a.rng.IntN(2) == 0 {
		return
	}
	a.wait(a.world.now+time.Duration(a.rng.IntN(3_000))*time.Millisecond, nil)
	if a.rng.IntN(2) == 0 {
		return // a screen that is closed
	}
	err := g.Keep()
	a.log("keeps it: %v", err)
	if err == nil {
		a.armed[0].kept = true
	}
}

// keep is piton keep.
func (a *actor) keep() {
	l := a.launcher()
	armed, err := l.List()
	if err != nil || len(armed) == 0 {
		return
	}
	entry := armed[a.rng.IntN(len(armed))].Entry
	err = l.Keep(entry)
	a.log("keeps entry %d: %v", entry, err)
	if err != nil {
		return
	}
	for _, g := range a.world.guards {
		if _, its := g.State(); its == entry && g.maker.disk == a.disk {
			g.kept = true
		}
	}
}

// carry carries a plan out, and judges what piton says of it.
func (a *actor) applyPlan(t *change.Tuner, plan change.Plan) (change.Outcome, error) {
	a.carried = a.steps
	outcome, err := t.Apply(interruptible{context.Background(), a}, plan, a.confirmation)
	a.judge(outcome, err)
	return outcome, err
}

// sweep takes CPUs away from all tasks, as an isolate does.
func (a *actor) matchAll() {
	cpus := []cpuset.Set{cpuset.Of(1), cpuset.Of(2, 3), cpuset.Of(3, 5)}[a.rng.IntN(3)]
	a.isolates, a.danger = cpus, true
	a.confirmation.Yes = a.rng.IntN(4) != 0
	if a.rng.IntN(4) == 0 {
		a.confirmation = change.Confirmation{RevertAfter: time.Duration(100+a.rng.IntN(2_000)) * time.Millisecond}
	}
	t := a.tuner("piton isolate", true)
	a.log("isolates %s, confirmation %+v", cpus, a.confirmation)
	plan, err := matchAll{a, t, cpus}.Again(interruptible{context.Background(), a}, change.Plan{})
	a.planned = a.steps
	a.log("has a plan")
	if err != nil {
		a.log("no plan: %v", err)
		return
	}
	outcome, _ := a.applyPlan(t, plan)
	a.answer(outcome.Guard)
}

// sweep is the change.Sweep of an isolate.
type matchAll struct {
	*actor
	t    *change.Tuner
	cpus cpuset.Set
}

func (s matchAll) Again(ctx context.Context, _ change.Plan) (change.Plan, error) {
	at := s.t.Ticks()
	requests, err := s.More(ctx)
	if err != nil {
		return change.Plan{}, err
	}
	plan, err := s.t.Plan(ctx, requests)
	plan.Changes = slices.DeleteFunc(plan.Changes, func(c change.Change) bool { return c.Status == attr.Refused && c.Gone() })
	plan.Sweep, plan.AtTicks, plan.Origin = s, at, s.origin()
	plan.Need(change.Isolation, "isolating leaves few CPUs for everything else")
	return plan, err
}

// More asks for what has the CPUs.
func (s matchAll) More(context.Context) ([]change.Request, error) {
	a, t, cpus := s.actor, s.t, s.cpus
	v := view{a}.proc()
	without := func(mask cpuset.Set) cpuset.Set {
		if left := mask.AndNot(cpus); !left.Empty() {
			return left
		}
		return allCPUs.AndNot(cpus)
	}
	var out []change.Request
	for _, k := range fileKinds {
		if k.attribute != attr.IRQAffinity {
			continue
		}
		mask, err := t.Read(k.attribute, attr.Object{Path: k.path})
		if err == nil && !attr.CPUs(mask).And(cpus).Empty() {
			out = append(out, change.Request{Files: []attr.FileSetting{attr.SetFile(k.attribute, k.path, "", without(attr.CPUs(mask)))}})
		}
	}
	pids, err := v.Processes()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		tids, _ := v.Threads(pid)
		for _, tid := range tids {
			mask, err := v.Affinity(tid)
			k, lookErr := t.Look(pid, tid)
			if err != nil || lookErr != nil || k.Ended() || mask.And(cpus).Empty() {
				continue
			}
			left := without(mask)
			if v.limitedTask(tid) {
				if left = left.And(limited); left.Empty() {
					continue
				}
			}
			out = append(out, change.Request{Targets: []change.Target{{TID: tid, StartTicks: k.StartTicks, Scope: change.ScopeThread}},
				Set: []attr.Setting{attr.SetAffinity(left)}})
		}
	}
	return out, nil
}

func (v view) limitedTask(tid kernel.TID) bool {
	t := v.find(tid)
	return t != nil && t.leader.limited
}

// undoRequest is what an undo is asked for.
func (a *actor) undoRequest() change.UndoRequest {
	switch a.rng.IntN(4) {
	case 0:
		return change.UndoRequest{All: true}
	case 1:
		return change.UndoRequest{Last: 1 + a.rng.IntN(2)}
	case 2:
		return change.UndoRequest{Since: epoch.Add(a.world.now + a.wall - time.Duration(a.rng.IntN(2_000))*time.Millisecond)}
	}
	return change.UndoRequest{IDs: []uint64{1 + a.rng.Uint64N(6)}}
}

// undo is piton undo. It reports whether there may be more to do.
func (a *actor) undo(q change.UndoRequest) (change.Outcome, error) {
	a.undoes = true
	t := a.tuner("piton undo", true)
	a.log("undoes %+v", q)
	plan, err := t.PlanUndo(interruptible{context.Background(), a}, q)
	a.planned = a.steps
	a.log("has a plan")
	if err != nil {
		a.log("no undo: %v", err)
		return change.Outcome{}, err
	}
	outcome, err := a.applyPlan(t, plan)
	if errors.Is(err, change.ErrNeedsConfirmation) {
		a.violate("an undo needs a confirmation: %v", err)
	}
	return outcome, err
}
