package object

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"

	"piton/internal/feature"
)

func TestExplain(t *testing.T) {
	assert.NoError(t, Explain("x", nil))
	refusal := &Refusal{"walk", "because", ""}
	assert.Equal(t, error(refusal), Explain("x", refusal), "explained once")
	assert.Equal(t, "walk by eBPF: because", refusal.Error())

	old := Explain("walk", fmt.Errorf("program: %w", ebpf.ErrNotSupported))
	assert.ErrorIs(t, old, feature.ErrNotSupported)
	assert.ErrorIs(t, Explain("walk", syscall.ENOSYS), feature.ErrNotSupported)

	for _, unsure := range []error{syscall.ENOMEM, syscall.EAGAIN, errors.New("odd")} {
		err := Explain("walk", fmt.Errorf("create map: %w (MEMLOCK may be too low)", unsure))
		assert.NotErrorIs(t, err, feature.ErrNotSupported, "it could not be told")
		assert.ErrorIs(t, err, unsure)
	}
	rejected := &ebpf.VerifierError{Cause: syscall.EACCES, Log: []string{"0: R1=ctx()", "invalid mem access 'scalar'", "processed 3 insns (limit 1000000)", ""}}
	err := Explain("walk", fmt.Errorf("load: %w", rejected))
	assert.EqualError(t, err, "walk by eBPF: the kernel's verifier rejected the program: invalid mem access 'scalar': permission denied")
	assert.NotErrorIs(t, err, feature.ErrNotSupported)
}
