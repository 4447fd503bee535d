package action

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/target"
	"piton/internal/why"
)

// Remedy is what helps against a cause of waiting, for targets that waited.
type Remedy struct {
	*why.Setting
	Targets []change.Target
	Threads []why.Thread // of them
	Subject string       // what they are called
	Reason  string       // for the journal
}

// Request is what the remedy's command line means. Tasks are found in the newest sample, interrupt
// lines among those that are read.
func (r Remedy) Request(now *model.Model, lines func() (irq.Table, error)) (Request, error) {
	a := attr.Attribute(r.Attribute)
	value, err := a.Parse(r.Value)
	q := Request{What: string(a), Subject: strings.Join(r.On, ", "), Tuning: Tuning{Set: []attr.Setting{{Attribute: a, Value: value}}, Reason: r.Reason}}
	switch {
	case err != nil:
	case a == attr.IRQAffinity:
		q.Requests, err = r.lines(attr.CPUs(value), lines)
	case a.OfGroup():
		for _, word := range r.On {
			q.Tuning.Groups = append(q.Tuning.Groups, "/"+strings.TrimPrefix(word, "cgroup:"))
		}
	case r.Single:
		q.Targets, err = threadsOf(r.On)
	case r.Spread:
		q.Subject, q.Requests = r.Subject, r.spread(attr.CPUs(value).CPUs())
	case r.Own:
		q.Subject, q.Targets = r.Subject, r.Targets
	default:
		q.Targets, err = meant(r.On, now.Sample.Tasks)
	}
	return q, err
}

// lines sends interrupt lines elsewhere.
func (r Remedy) lines(cpus cpuset.Set, read func() (irq.Table, error)) ([]change.Request, error) {
	table, err := read()
	if err != nil {
		return nil, err
	}
	rows, missing := table.Choose(r.On)
	if len(missing) > 0 {
		return nil, missing[0]
	}
	return because(MoveIRQs(rows, cpus), r.Reason), nil
}

// spread gives each thread one of the CPUs.
func (r Remedy) spread(cpus []cpuset.CPU) (out []change.Request) {
	for i, th := range r.Threads {
		out = append(out, change.Request{Targets: []change.Target{{TID: th.TID, Scope: change.ScopeThread}},
			Set: []attr.Setting{attr.SetAffinity(cpuset.Of(cpus[i%len(cpus)]))}})
	}
	return because(out, r.Reason)
}

func because(requests []change.Request, reason string) []change.Request {
	for i := range requests {
		requests[i].Reason = reason
	}
	return requests
}

// threadsOf are threads by their numbers.
func threadsOf(words []string) (out []change.Target, err error) {
	for _, word := range words {
		tid, failed := strconv.Atoi(word)
		out, err = append(out, change.Target{TID: kernel.TID(tid), Scope: change.ScopeThread}), errors.Join(err, failed)
	}
	return out, err
}

// meant are the processes that TARGETs mean.
func meant(words []string, tasks []*sample.Task) (out []change.Target, err error) {
	var exprs []target.Expr
	for _, word := range words {
		e, err := target.Parse(word)
		if err != nil {
			return nil, err
		}
		exprs = append(exprs, e)
	}
	found, err := target.Resolve(exprs, tasks, kernel.TID(os.Getpid()))
	for _, t := range found {
		out = append(out, change.Target{TID: t.TID, StartTicks: t.StartTicks})
	}
	return out, err
}
