package action

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// fakeHooks steer nothing, and note what they were told.
type fakeHooks struct {
	refusal error // beforehand
	broken  error // once it steers
	opened  []HookAsk
	running int // that are open
	choices []cpuset.Set
	targets [][]kernel.TID // that were told
}

func (f *fakeHooks) Why(HookAsk) error { return f.refusal }

func (f *fakeHooks) Open(o HookAsk) (Hook, error) {
	f.opened = append(f.opened, o)
	f.running++
	return f, nil
}

func (f *fakeHooks) SetChoice(c cpuset.Set) error { f.choices = append(f.choices, c); return nil }
func (f *fakeHooks) SetTargets(ids ...kernel.TID) error {
	f.targets = append(f.targets, ids)
	return nil
}
func (f *fakeHooks) Check() error    { return f.broken }
func (f *fakeHooks) Notes() []string { return []string{"native XDP on eth0"} }
func (f *fakeHooks) Close()          { f.running-- }

// onCard is a network with a NIC, and programs.
func onCard(t *testing.T, policy Policy) (*network, *fakeHooks) {
	n, f := newNetwork(t), &fakeHooks{}
	n.card(t)
	n.ask.Policy, n.ask.hooks = policy, f
	return n, f
}

// TestPoliciesByPrograms is which programs a policy takes, and that nothing is set or recorded.
func TestPoliciesByPrograms(t *testing.T) {
	for _, policy := range []Policy{PolicyCurrent, PolicyRequest, PolicyDedicated, PolicyApart, PolicyLeastLoaded} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, f := onCard(t, policy)
				n.ask.Via = WayXDP
				if policy == PolicyDedicated {
					n.ask.CPUs = cpuset.Of(2)
				}
				s, err := n.lookAt(t)
				require.NoError(t, err)
				assert.Equal(t, WayXDP, s.Way)
				assert.Empty(t, n.preview(t, s))
				require.NoError(t, s.Run(t.Context(), 5*time.Second, func(Seen) { assert.Equal(t, 1, f.running) }))
				assert.Zero(t, f.running)
				require.Len(t, f.opened, 1)
				o := f.opened[0]
				assert.Equal(t, policy, o.Policy)
				assert.Equal(t, []int{2}, o.Interfaces)
				assert.Equal(t, []kernel.TID{10}, o.Targets)
				assert.Equal(t, WayXDP, o.Way)
				assert.Equal(t, policy == PolicyLeastLoaded, len(f.choices) > 0)
				if policy == PolicyDedicated {
					assert.Equal(t, n.ask.CPUs, o.CPUs)
				}
				assert.Equal(t, []string{"native XDP on eth0"}, s.Notes)
				n.assertOff(t)
				entries, _, err := n.tuner.Entries()
				require.NoError(t, err)
				assert.Empty(t, entries)
			})
		})
	}
}

// TestProgramsAreTakenInOrder is that other policies take them first, and the current one
// only without RFS; hints only if they are asked for.
func TestProgramsAreTakenInOrder(t *testing.T) {
	for policy, want := range map[Policy]Way{PolicyCurrent: WayRFS, PolicyRequest: WayXDP, PolicyApart: WayXDP, PolicyLeastLoaded: WayXDP} {
		n, _ := onCard(t, policy)
		s, err := n.lookAt(t)
		require.NoError(t, err)
		assert.Equal(t, want, s.Way, policy)
	}
	n, f := onCard(t, PolicyRequest)
	f.refusal = errors.New("eth0 has another XDP program already")
	_, err := n.lookAt(t)
	assert.ErrorContains(t, err, "there is no way to steer these packets; xdp: eth0 has another XDP program already; xdp-generic: eth0 has another")
	assert.NotContains(t, err.Error(), "hint")
	assert.Equal(t, []Way{WayXDP, WayGeneric, WayHint}, PolicyRequest.Ways())

	n = newNetwork(t)
	n.ask.Policy, n.ask.hooks = PolicyRequest, &fakeHooks{}
	s, err := n.lookAt(t)
	require.NoError(t, err)
	assert.Equal(t, WayGeneric, s.Way)
	assert.Equal(t, []Missed{{WayXDP, "lo has no driver: XDP is generic there"}}, s.Missed)
}

// TestProgramsNeedRPSOff is that programs are not taken where RPS would move the packets on.
func TestProgramsNeedRPSOff(t *testing.T) {
	n, f := onCard(t, PolicyRequest)
	n.setting("/sys/class/net/eth0/queues/rx-0/rps_cpus", "c")
	_, err := n.lookAt(t)
	assert.ErrorContains(t, err, "xdp: RPS of eth0 rx-0 would move the packets on, to CPUs 2-3; piton irq queues eth0 --rps off switches it off; xdp-generic: RPS of eth0")
	assert.Empty(t, f.opened)

	n, _ = onCard(t, PolicyRequest)
	n.setting("/sys/class/net/eth0/queues/rx-0/rps_flow_cnt", "4096")
	_, err = n.lookAt(t)
	require.NoError(t, err, "RFS has no table")
	n.setting(entriesFile, "32768")
	_, err = n.lookAt(t)
	assert.ErrorContains(t, err, "xdp: RFS of eth0 rx-0 would move the packets on, to their readers; piton irq queues eth0 --rps-flows 0 switches it off")
}

// TestProgramsEndWithWhatTheySteer is an error, and nothing left.
func TestProgramsEndWithWhatTheySteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, f := onCard(t, PolicyRequest)
		s, err := n.lookAt(t)
		require.NoError(t, err)
		err = s.Run(t.Context(), time.Minute, func(Seen) { f.broken = errors.New("eth0: it is not there") })
		assert.EqualError(t, err, "eth0: it is not there; everything is as it was before")
		assert.Zero(t, f.running)
		ctx, cancel := context.WithCancel(t.Context())
		f.broken = nil
		s, err = n.lookAt(t)
		require.NoError(t, err)
		require.NoError(t, s.Run(ctx, time.Minute, func(Seen) { cancel() }), "^C is no error")
		assert.Zero(t, f.running)
	})
}

// TestProgramsKnowTheTargets is that one that has ended is none any more, and that those of now
// are.
func TestProgramsKnowTheTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, f := onCard(t, PolicyRequest)
		n.Spawn(11, 11)
		n.ask.Targets = append(n.ask.Targets, change.Target{TID: 11})
		s, err := n.lookAt(t)
		require.NoError(t, err)
		require.NoError(t, s.Run(t.Context(), 10*time.Second, func(Seen) { n.Kill(10) }))
		assert.Equal(t, [][]kernel.TID{{11}}, f.targets)

		n, f = onCard(t, PolicyRequest)
		n.ask.Renew = func(now []change.Target) []change.Target {
			return append(now[:1:1], change.Target{TID: 12})
		}
		s, err = n.lookAt(t)
		require.NoError(t, err)
		require.NoError(t, s.Run(t.Context(), 10*time.Second, func(Seen) { n.Spawn(12, 12) }))
		assert.Equal(t, [][]kernel.TID{{10, 12}}, f.targets)
	})
}
