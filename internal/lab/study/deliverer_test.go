package study

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/lab/stripnet"
	"piton/internal/paper"
)

// The test program is a process of a workload too.
const workloadWord = "__workload"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == workloadWord {
		os.Exit(runner.ChildMain(os.Args[2:], os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// TestArmsDeliver makes a period of each arm with two servers, but for RFS, which would change
// the machine.
func TestArmsDeliver(t *testing.T) {
	net, err := stripnet.New(2)
	if err != nil {
		t.Skip("no network of namespaces here: ", explainNetwork(err))
	}
	defer net.Close()
	self, err := os.Executable()
	require.NoError(t, err)
	cpus, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	refused := errors.New("nothing of this machine is changed")
	c := &deliveryCell{Deliverer: &Deliverer{Runner: &runner.Runner{Command: []string{self, workloadWord}}, Refused: refused}, tell: func(bench.RunResult) {},
		found: delivered{LeftOut: map[string]string{}},
		load:  stripnet.Load{Clients: deliveryClients, Settle: 10 * time.Millisecond, Period: 100 * time.Millisecond}}
	require.NoError(t, c.withFlowTable(t.Context(), time.Minute, &delivery{net: net, cpus: cpus.CPUs()}, func(ctx context.Context, d *delivery) error {
		for _, arm := range deliveryArms {
			if err := c.one(ctx, d, arm, 0); err != nil {
				return err
			}
		}
		return nil
	}))
	assert.Equal(t, refused.Error(), c.found.LeftOut["rfs"])
	for _, arm := range []string{"default", "fixed", "rps-hash", "rps-least-loaded", "rps-dedicated"} {
		assert.NotContains(t, c.found.LeftOut, arm)
	}
	t.Log("left out: ", c.found.LeftOut) // XDP takes eBPF
	require.Len(t, c.runs, len(deliveryArms)-len(c.found.LeftOut))
	for _, run := range c.runs {
		assert.Empty(t, run.Err, run.Placement)
		assert.Positive(t, run.Metric, run.Placement)
		assert.NotEmpty(t, run.Detail, run.Placement)
	}
}

func TestCellsWithoutTimeAreNotBegun(t *testing.T) {
	d := &Deliverer{Runner: &runner.Runner{}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	runs, err := d.Cell(ctx, saisCells(paper.Machine{}, saisLoads[len(saisLoads)-1])[0].study, time.Minute, nil)
	require.ErrorIs(t, err, errNoTime)
	assert.Empty(t, runs)
}

// TestTheGuardWaitsForTheBudget: rounds on a loaded machine take longer than was planned.
func TestTheGuardWaitsForTheBudget(t *testing.T) {
	assert.Equal(t, time.Hour+flowTableSlack, flowTableLimit(t.Context(), time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
	defer cancel()
	assert.Greater(t, flowTableLimit(ctx, time.Minute), 2*time.Hour)
	assert.Equal(t, 24*time.Hour, flowTableLimit(ctx, 48*time.Hour))
}

func TestNetworksThatCannotBe(t *testing.T) {
	assert.ErrorIs(t, explainNetwork(os.ErrPermission), attr.ErrNotPermitted)
	assert.ErrorIs(t, explainNetwork(errors.ErrUnsupported), attr.ErrNotSupported)
	other := errors.New("other")
	assert.Equal(t, other, explainNetwork(other))
}

// What an arm has put in force is reverted also when the study is interrupted in that moment, or
// the arm fails half way.
func TestArmsAreTakenBack(t *testing.T) {
	for _, failure := range []error{nil, errors.New("half of it"), change.ErrOvertaken} {
		ctx, cancel := context.WithCancel(t.Context())
		back := 0
		arm := deliveryArm{name: "arm", on: func(context.Context, *delivery) (func() error, error) {
			if failure == nil {
				cancel()
			}
			return func() error { back++; return nil }, failure
		}}
		c := deliveryCell{tell: func(bench.RunResult) {}, found: delivered{LeftOut: map[string]string{}}}
		err := c.one(ctx, &delivery{}, arm, 0)
		cancel()
		assert.Equal(t, 1, back, failure)
		switch {
		case failure == nil:
			assert.ErrorIs(t, err, context.Canceled)
		case errors.Is(failure, change.ErrOvertaken):
			assert.ErrorIs(t, err, change.ErrOvertaken)
		default:
			assert.NoError(t, err)
			assert.Equal(t, map[string]string{"arm": "half of it"}, c.found.LeftOut)
		}
	}
}
