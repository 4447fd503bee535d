package topology_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// gapped is 16 CPUs in 8 cores of 2 threads, on nodes 0 and 4 with two LLCs each.
func gapped() *topology.Topology {
	return topologytest.Synthetic(topologytest.Spec{
		Nodes: 2, NodeIDs: []topology.NodeID{0, 4}, LLCsPerNode: 2, CoresPerLLC: 2, Threads: 2,
		Offline: "15", Isolated: "2-3",
	})
}

func TestParseCPUs(t *testing.T) {
	for _, tt := range []struct{ expr, want, wantErr string }{
		{expr: "3", want: "3"},
		{expr: " 0-3, 8 ", want: "0-3,8"},
		{expr: "0-14:2", want: "0,2,4,6,8,10,12,14"},
		{expr: "0xf", want: "0-3"},
		{expr: "15", want: "15"}, // offline, but there
		{expr: "online", want: "0-14"},
		{expr: "isolated", want: "2-3"},
		{expr: "online^isolated", want: "0-1,4-14"},
		{expr: "online,^isolated", want: "0-1,4-14"},
		{expr: "online , ^ isolated", want: "0-1,4-14"},
		{expr: "^isolated", want: "0-1,4-14"},
		{expr: "^0^1", want: "2-14"},
		{expr: "0-3^2,2", want: "0-3"},
		{expr: "online^nohz_full", want: "0-14"},
		{expr: "node:0", want: "0-3,8-11"},
		{expr: "node:4", want: "4-7,12-14"},
		{expr: "node:0-4:4", want: "0-14"},
		{expr: "node:0,^0-1", want: "2-3,8-11"},
		{expr: "node:0,4", want: "0-4,8-11"},
		{expr: "llc:1", want: "2-3,10-11"},
		{expr: "llc:0-1,llc:3", want: "0-3,6-11,14"},
		{expr: "package:1", want: "4-7,12-14"},
		{expr: "core:3", want: "3,11"},
		{expr: "core:7", want: "7"},

		{expr: "", wantErr: `CPUS "": a term is missing`},
		{expr: "1,", wantErr: `CPUS "1,": a term is missing`},
		{expr: "1,,2", wantErr: `CPUS "1,,2": a term is missing`},
		{expr: "1^", wantErr: `CPUS "1^": a term is missing`},
		{expr: "^", wantErr: `CPUS "^": a term is missing`},
		{expr: "1^^2", wantErr: `CPUS "1^^2": a term is missing`},
		{expr: "14-20", wantErr: `CPUS "14-20": this machine has no CPU 16-20, it has 0-15`},
		{expr: "0xffffff", wantErr: `CPUS "0xffffff": this machine has no CPU 16-23, it has 0-15`},
		{expr: "node:1-4", wantErr: `CPUS "node:1-4": this machine has no node 1-3, it has 0,4`},
		{expr: "llc:9", wantErr: `CPUS "llc:9": this machine has no llc 9, it has 0-3`},
		{expr: "core:x", wantErr: `CPUS "core:x": "x" after core: is no number or range`},
		{expr: "core:", wantErr: `CPUS "core:": "" after core: is no number or range`},
		{expr: "nohz_full", wantErr: `CPUS "nohz_full": this machine has no nohz_full CPUs`},
		{expr: "1^1", wantErr: `CPUS "1^1": no CPU is left`},
		{expr: "socket:1", wantErr: `CPUS "socket:1": "socket:1" is neither a CPU number or range nor node:N, llc:N, package:N, core:N, online, isolated or nohz_full`},
		{expr: "3-1", wantErr: `CPUS "3-1": range "3-1" runs backwards`},
		{expr: "-1", wantErr: `CPUS "-1": "-1" is neither a CPU number or range nor node:N, llc:N, package:N, core:N, online, isolated or nohz_full`},
	} {
		t.Run(tt.expr, func(t *testing.T) {
			got, err := topology.ParseCPUs(tt.expr, gapped())
			if tt.wantErr != "" {
				require.EqualError(t, err, tt.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.String())
		})
	}
}

// TestCheckCPUs tells what no machine could read from what this one does not have.
func TestCheckCPUs(t *testing.T) {
	for _, expr := range []string{"0-3", " 0-3, 8 ", "0-14:2", "0xf", "4000", "node:7", "node:0-4:4,^0-1", "llc:9", "isolated", "^nohz_full", "1^1"} {
		assert.NoError(t, topology.CheckCPUs(expr))
	}
	for expr, want := range map[string]string{
		"": "a term is missing", "1,": "a term is missing", "^": "a term is missing", "nod:1": `"nod:1" is neither`,
		"0-3-5": `"3-5" is not a CPU number`, "7-4": "runs backwards", "0-3:0": "stride 0", "core:": "is no number or range",
		"node:0,nod:1": `"nod:1" is neither`, "0xg": "not a hex digit", "99999999": "is above",
	} {
		assert.ErrorContains(t, topology.CheckCPUs(expr), want, expr)
	}
}

func TestParseCPUsWhereLittleIsKnown(t *testing.T) {
	bare := topology.New(topology.Topology{CPUs: []topology.CPU{{ID: 0, Online: true, Node: -1}}})
	_, err := topology.ParseCPUs("llc:0", bare)
	assert.EqualError(t, err, `CPUS "llc:0": the kernel says nothing of any llc here`)
	_, err = topology.ParseCPUs("isolated", bare)
	assert.EqualError(t, err, `CPUS "isolated": this machine has no isolated CPUs`)
}

func FuzzParseCPUs(f *testing.F) {
	for _, seed := range []string{"0-3,8", "node:0,^0-1", "online^isolated", "core:0-14:2", "0xff", "^"} {
		f.Add(seed)
	}
	machine := gapped()
	f.Fuzz(func(t *testing.T, expr string) {
		set, err := topology.ParseCPUs(expr, machine)
		if wrong := topology.CheckCPUs(expr); wrong != nil {
			assert.Equal(t, wrong, err)
		}
		if err != nil {
			assert.True(t, set.Empty())
			return
		}
		assert.False(t, set.Empty())
		assert.True(t, set.SubsetOf(machine.Present))
		again, err := topology.ParseCPUs(set.String(), machine)
		require.NoError(t, err)
		assert.Equal(t, set.String(), again.String())
	})
}
