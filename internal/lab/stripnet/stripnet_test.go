package stripnet

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/child"
)

// The test program is a process of the traffic too.
const processWord = "stripnet-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == processWord {
		os.Exit(child.Main(os.Stdin, os.Stdout, runProcess))
	}
	os.Exit(m.Run())
}

func network(t *testing.T, servers int) (*Network, []string) {
	t.Helper()
	n, err := New(servers)
	if err != nil {
		t.Skip("no network of namespaces here: ", err)
	}
	t.Cleanup(n.Close)
	self, err := os.Executable()
	require.NoError(t, err)
	return n, []string{self, processWord}
}

func TestTraffic(t *testing.T) {
	n, command := network(t, 2)
	assert.Len(t, n.Interfaces, 2)
	for name, pace := range map[string]int{"saturated": 0, "paced": 40} {
		r, err := n.Measure(t.Context(), command, Load{Clients: 2, PaceMBs: pace, Settle: 50 * time.Millisecond, Period: time.Second})
		require.NoError(t, err, name)
		t.Logf("%s: %+v", name, r)
		assert.Positive(t, r.Transfers, name)
		assert.Positive(t, r.MBs, name)
		assert.Positive(t, r.P50, name)
		assert.GreaterOrEqual(t, r.P99, r.P50, name)
		assert.GreaterOrEqual(t, r.SameCPU, 0.0, name)
		assert.LessOrEqual(t, r.SameCPU, 1.0, name)
		if pace > 0 {
			assert.Less(t, r.MBs, 3*float64(pace), "late transfers are not made up for")
		}
	}
}

func TestTrafficEndsWithItsContext(t *testing.T) {
	n, command := network(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := n.Measure(ctx, command, Load{Clients: 1, Period: time.Hour})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestSteeringIsTaken: the files of the clients' namespace are those of the interfaces.
func TestSteeringIsTaken(t *testing.T) {
	n, command := network(t, 2)
	for _, name := range n.Interfaces {
		require.NoError(t, n.Client.WriteSetting(name+"/queues/rx-0/rps_cpus", "1"))
	}
	r, err := n.Measure(t.Context(), command, Load{Clients: 1, Settle: 20 * time.Millisecond, Period: time.Second})
	require.NoError(t, err)
	assert.Positive(t, r.Transfers)
}

func TestSums(t *testing.T) {
	s := newStrips()
	for k := range perTransfer {
		assert.Equal(t, stripSum(k), sumOf(s[k*StripBytes:(k+1)*StripBytes]), "strip %d", k)
	}
	s[100]++
	assert.NotEqual(t, stripSum(0), sumOf(s[:StripBytes]))
}

func TestSum(t *testing.T) {
	servers := part{BusyNsPerS: 1.5e9}
	clients := []part{
		{Seconds: 1, Bytes: 300e6, Same: 150e6, Micros: []float64{3, 1, 2}, Migrations: 4, HaveMigrations: true, Misses: 10},
		{Seconds: 2, Bytes: 100e6, Same: 100e6, Micros: []float64{9}, Migrations: 1, HaveMigrations: true, Misses: 5},
	}
	r := sum(servers, clients)
	missed := uint64(15)
	assert.Equal(t, Reading{Seconds: 2, Transfers: 4, MBs: 350, CPUNsPerKB: 1.5e9 / 350e3, P50: 2.5, P99: 9, SameCPU: 250. / 400,
		Migrations: 5, HaveMigrations: true, Misses: &missed}, r)
	clients[1].MissesWhy, clients[1].HaveMigrations = "no PMU", false
	r = sum(servers, clients)
	assert.Nil(t, r.Misses)
	assert.Equal(t, "no PMU", r.MissesWhy)
	assert.False(t, r.HaveMigrations)
	assert.Zero(t, sum(servers, []part{{Seconds: 1}}).CPUNsPerKB)
}
