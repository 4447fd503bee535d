package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vmGuests are the machines of make vmtest, the slowest first: one boot each.
// The first has CPUs above 63, and all but the last have every distance.
var vmGuests = []struct {
	kernel string
	shape  vmShape
	more   []string // options of the rig
}{
	{"6.12", vmShape{cpus: 72, threads: 2, nodes: 4, l3: 3}, nil},
	{"7.2", vmShape{cpus: 32, threads: 2, nodes: 4, l3: 2}, vmDevices},
	{"6.1", vmShape{cpus: 8, threads: 2, nodes: 4, l3: 1}, append([]string{"--append", "threadirqs"}, vmDevices...)},
}

// vmDevices raise interrupts that can be moved, and one that its driver manages.
var vmDevices = []string{"--nics", "2", "--queues", "4", "--nvme", "1"}

// vmScript is what each of them runs.
const vmScript = `set -e
export PITON_VM_SHAPE=%s
./piton doctor
./bpf.test -test.v -test.run 'TestMigrationsAreExact|TestWalkEqualsProc|TestWalkManyMasks|TestRunQueues'
for unprivileged in 0 2 1; do # 1 stays until the machine ends
	echo $unprivileged >/proc/sys/kernel/unprivileged_bpf_disabled
	./bpf.test -test.v -test.run TestRefusals
done
./tune.test -test.v -test.run 'TestReal(Cpuset|WithoutRights|Deadline|Reuse|Zombie|BlockedTask|AbsentCPU|KernelThread|ManagedLine)'
./cli.test -test.v -test.run 'TestVM|TestWatchIsExact|TestWatchBurst'
`

// TestInVM boots the machines and runs in them what needs many CPUs, or
// another kernel. It takes minutes, so make vmtest alone asks for it.
func TestInVM(t *testing.T) {
	if os.Getenv("PITON_VM") == "" {
		t.Skip("make vmtest runs it")
	}
	rig, err := filepath.Abs("../../../shared/vm/run")
	require.NoError(t, err)
	if _, err := os.Stat(rig); err != nil {
		t.Skip("the machine is described beside the repository, which is not there: ", err)
	}
	dir := t.TempDir()
	for _, build := range [][]string{
		{"build", "-o", dir + "/piton", "piton/cmd/piton"},
		{"test", "-c", "-o", dir + "/bpf.test", "piton/internal/bpf"},
		{"test", "-c", "-o", dir + "/tune.test", "piton/internal/tune"},
		{"test", "-c", "-o", dir + "/cli.test", "piton/internal/cli"},
	} {
		cmd := exec.Command("go", build...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v: %s", build, out)
	}
	for _, guest := range vmGuests {
		t.Run(guest.kernel, func(t *testing.T) {
			t.Parallel() // each takes one CPU of the host
			s := guest.shape
			shape := fmt.Sprintf(shapeFormat, s.cpus, s.threads, s.nodes, s.l3)
			args := []string{"--kernel", guest.kernel, "--cpus", fmt.Sprint(s.cpus), "--threads", fmt.Sprint(s.threads),
				"--nodes", fmt.Sprint(s.nodes), "--l3", fmt.Sprint(s.l3), "--timeout", "240", "--verbose"}
			args = append(args, guest.more...)
			for _, file := range []string{"piton", "bpf.test", "tune.test", "cli.test"} {
				args = append(args, "--copy", filepath.Join(dir, file))
			}
			cmd := exec.Command(rig, append(args, "--", fmt.Sprintf(vmScript, shape))...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			began := time.Now()
			err := cmd.Run()
			t.Logf("%d CPUs with Linux %s took %v\n%s", s.cpus, guest.kernel, time.Since(began).Round(time.Second), out.String())
			require.NoError(t, err)
			for _, name := range []string{"TestVMTopology", "TestVMDistances", "TestWatchIsExact", "TestRefusals", "TestRealCpuset", "TestRealDeadline",
				"TestVMMemoryFollows", "TestVMMemBind", "TestVMRunInACgroup", "TestVMCpusetLimits", "TestVMOverwriters"} {
				assert.Contains(t, out.String(), "--- PASS: "+name+" ", "it ran, and was not skipped")
			}
			if len(guest.more) > 0 {
				for _, name := range []string{"TestVMSpreadIRQs", "TestVMQueueSettings", "TestVMIRQRefusals", "TestRealManagedLine",
					"TestVMScreenIsolates", "TestVMScreenMovesIRQs"} {
					assert.Contains(t, out.String(), "--- PASS: "+name+" ", "it ran, and was not skipped")
				}
			}
		})
	}
}
