package bpf

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/bpf/bpftest"
	"piton/internal/bpf/object"
	"piton/internal/feature"
	"piton/internal/kernel/kerneltest"
)

// playOpen takes a right from itself and prints how each subject opens.
func playOpen(role []string) error {
	var err error
	switch role[0] {
	case "seccomp":
		err = bpftest.ForbidBPF()
	case "nobtf":
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("none", "/sys/kernel/btf", "tmpfs", 0, ""))
	}
	if err != nil {
		return err
	}
	for _, f := range Features {
		name, err := f.ID, f.Probe()
		var refusal *object.Refusal
		switch {
		case err == nil:
			fmt.Printf("%s works\n", name)
		case errors.As(err, &refusal) && errors.Is(err, feature.ErrNotSupported):
			fmt.Printf("%s refused: %v; needs %s\n", name, err, refusal.Need)
		default:
			fmt.Printf("%s failed: %v\n", name, err)
		}
	}
	return nil
}

func TestRefusals(t *testing.T) {
	kerneltest.NeedRoot(t, "to take rights away")
	bpftest.Must(t, 5, 8, OpenMigrations).Close()
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	self := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	tests := []struct {
		name, role string
		attr       *syscall.SysProcAttr
		want, need string // "" works
	}{
		{"root", "as-is", nil, "", ""},
		{"nobody", "as-is", &syscall.SysProcAttr{Credential: nobody}, "CAP_BPF and CAP_PERFMON, which this process does not have", "CAP_BPF and CAP_PERFMON"},
		{"CAP_BPF alone", "as-is", &syscall.SysProcAttr{Credential: nobody, AmbientCaps: []uintptr{unix.CAP_BPF}}, "takes CAP_PERFMON", "CAP_PERFMON"},
		{"both capabilities", "as-is", &syscall.SysProcAttr{Credential: nobody, AmbientCaps: []uintptr{unix.CAP_BPF, unix.CAP_PERFMON}}, "", ""},
		{"seccomp", "seccomp", nil, "a seccomp filter refuses bpf(2)", "a container or service without that filter"},
		{"PID namespace", "as-is", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}, "inside a PID namespace", "to run in the initial PID namespace"},
		{"user namespace", "as-is", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: self, GidMappings: self}, "inside a user namespace", "to run outside the user namespace"},
		{"no BTF", "nobtf", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}, "there is no /sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF"},
	}
	program := bpftest.PublicCopy(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd := bpftest.Command("open", test.role)
			cmd.Path, cmd.SysProcAttr = program, test.attr
			out, err := cmd.Output()
			if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) {
				t.Skipf("such a process cannot be made here: %v", err)
			}
			require.NoError(t, err, "%s", out)
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			require.Len(t, lines, len(Features), "%s", out)
			for _, line := range lines {
				assert.NotContains(t, line, "MEMLOCK")
				if test.want == "" {
					assert.Contains(t, line, " works")
					continue
				}
				assert.Contains(t, line, " refused: ")
				assert.Contains(t, line, test.want)
				assert.True(t, strings.HasSuffix(line, "; needs "+test.need), line)
			}
		})
	}
}
