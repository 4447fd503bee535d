package action

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/attr/share"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/why"
)

// A remedy on the screen asks for what its command line means.
func TestRemedies(t *testing.T) {
	own := []change.Target{{TID: 812, StartTicks: 5}}
	now := &model.Model{Sample: &sample.Sample{Tasks: []*sample.Task{
		{TID: 901, TGID: 901, StartTicks: 7, ID: &sample.Identity{Comm: "cc1"}},
		{TID: 902, TGID: 902, StartTicks: 8, ID: &sample.Identity{Comm: "cc1"}},
		{TID: 903, TGID: 903, StartTicks: 9, ID: &sample.Identity{Comm: "as"}},
	}}}
	lines := func() (irq.Table, error) {
		return irq.Table{Rows: []irq.Row{*queue(132, "eth0", 0, irq.QueueRx, 3)}}, nil
	}
	set := func(a attr.Attribute, v attr.Value) Tuning {
		return Tuning{Set: []attr.Setting{{Attribute: a, Value: v}}, Reason: "it waits"}
	}
	quota, err := share.ParseQuota("50% burst 31ms")
	require.NoError(t, err)
	limit := set(attr.Quota, quota)
	limit.Groups = []string{"/web.slice"}
	for name, c := range map[string]struct {
		why.Setting
		want Request
	}{
		"own": {why.Setting{Attribute: "affinity", Value: "0-1", On: []string{"nginx"}, Own: true},
			Request{What: "affinity", Subject: "nginx", Targets: own, Tuning: set(attr.Affinity, cpuset.Of(0, 1))}},
		"rival by number": {why.Setting{Attribute: "affinity", Value: "7", On: []string{"903"}},
			Request{What: "affinity", Subject: "903", Targets: []change.Target{{TID: 903, StartTicks: 9}}, Tuning: set(attr.Affinity, cpuset.Of(7))}},
		"rivals by name": {why.Setting{Attribute: "nice", Value: "10", On: []string{"cc1"}},
			Request{What: "nice", Subject: "cc1", Targets: []change.Target{{TID: 901, StartTicks: 7}, {TID: 902, StartTicks: 8}}, Tuning: set(attr.Nice, attr.NiceValue(10))}},
		"session": {why.Setting{Attribute: "autogroup", Value: "10", On: []string{"903"}},
			Request{What: "autogroup", Subject: "903", Targets: []change.Target{{TID: 903, StartTicks: 9}}, Tuning: set(attr.Autogroup, attr.NiceValue(10))}},
		"limit": {why.Setting{Attribute: "quota", Value: "50% burst 31ms", On: []string{"cgroup:web.slice"}},
			Request{What: "quota", Subject: "cgroup:web.slice", Tuning: limit}},
	} {
		q, err := Remedy{Setting: &c.Setting, Targets: own, Subject: "nginx", Reason: "it waits"}.Request(now, lines)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, q, name)
	}

	moved := Remedy{Setting: &why.Setting{Attribute: "irq-affinity", Value: "8", On: []string{"132"}}, Reason: "it waits"}
	q, err := moved.Request(now, lines)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"/proc/irq/132/smp_affinity_list": "8"}, sent(q.Requests))
	assert.Equal(t, "it waits", q.Requests[0].Reason)
	moved.On = []string{"133"}
	_, err = moved.Request(now, lines)
	assert.Error(t, err, "there is no such line")

	spread := Remedy{Setting: &why.Setting{Attribute: "affinity", Value: "2-3", Own: true, Spread: true}, Threads: []why.Thread{{TID: 1}, {TID: 2}, {TID: 3}}}
	q, err = spread.Request(now, lines)
	require.NoError(t, err)
	var cpus []string
	for _, r := range q.Requests {
		assert.Equal(t, change.ScopeThread, r.Targets[0].Scope)
		cpus = append(cpus, attr.Text(r.Set[0].Value))
	}
	assert.Equal(t, []string{"2", "3", "2"}, cpus)

	_, err = Remedy{Setting: &why.Setting{Attribute: "nice", Value: "10", On: []string{"ld"}}}.Request(now, lines)
	assert.ErrorContains(t, err, "ld")
	_, err = Remedy{Setting: &why.Setting{Attribute: "nice", Value: "much"}}.Request(now, lines)
	assert.Error(t, err)
}
