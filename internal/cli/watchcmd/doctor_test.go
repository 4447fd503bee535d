package watchcmd

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/object"
	"piton/internal/feature"
	"piton/internal/kernel"
)

func TestRemedies(t *testing.T) {
	none := func() (kernel.Capabilities, error) { return 0, nil }
	paranoid := func() string { return "3" }
	r := rights{usable: none, paranoid: paranoid}
	assert.Equal(t, commandSetcap, r.remedy(&object.Refusal{Need: "CAP_BPF and CAP_PERFMON"}))
	assert.Equal(t, commandSetcap, r.remedy(&feature.Missing{Needs: "CAP_PERFMON, or the sysctl kernel.perf_event_paranoid at 0 or below"}))
	assert.Equal(t, "ulimit -l unlimited", r.remedy(&object.Refusal{Need: "ulimit -l unlimited"}))
	assert.Contains(t, r.remedy(&object.Refusal{Need: "to run in the initial PID namespace"}), "--pid=host")
	assert.Contains(t, r.remedy(&object.Refusal{Need: "a container or service without that filter"}), "seccomp=unconfined")
	assert.Empty(t, r.remedy(&object.Refusal{Need: "CONFIG_DEBUG_INFO_BTF"}))
	assert.Empty(t, r.remedy(os.ErrNotExist))
	assert.Equal(t, []string{"CAP_BPF", "CAP_PERFMON"}, r.needed)

	all := func() (kernel.Capabilities, error) { return ^kernel.Capabilities(0), nil }
	r = rights{usable: all, paranoid: paranoid}
	assert.Empty(t, r.remedy(&object.Refusal{Need: "CAP_BPF and CAP_PERFMON"}), "what is held is not advised")
	assert.Empty(t, r.remedy(&feature.Missing{Needs: "CAP_SYS_PTRACE"}))
	counters := &feature.Missing{Needs: "CAP_PERFMON, or the sysctl kernel.perf_event_paranoid at 2 or below"}
	assert.Equal(t, "sudo sysctl kernel.perf_event_paranoid=2", r.remedy(counters))
	r.paranoid = func() string { return "2" }
	assert.Empty(t, r.remedy(counters), "it is 2 already")
	assert.Empty(t, r.needed)
}

func TestDoctorGroupsByCommand(t *testing.T) {
	d := doctor{findings: []finding{
		{id: "a", reason: "x", command: "one"}, {id: "b"}, {id: "c", reason: "y"}, {id: "d", reason: "z", command: "one"},
	}}
	groups := d.groups()
	require.Len(t, groups, 2)
	assert.Equal(t, "one", groups[0][0].command)
	assert.Equal(t, "d", groups[0][1].id)
	assert.Equal(t, "c", groups[1][0].id, "without a command last")
}
