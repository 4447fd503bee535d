package aggregate

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/object"
)

// layoutOf is a kernel's layout that has these functions.
func layoutOf(t *testing.T, names ...string) *btf.Spec {
	t.Helper()
	b, err := btf.NewBuilder(nil, nil)
	require.NoError(t, err)
	for _, name := range names {
		_, err := b.Add(&btf.Func{Name: name, Type: &btf.FuncProto{Return: &btf.Void{}}})
		require.NoError(t, err)
	}
	raw, err := b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian})
	require.NoError(t, err)
	layout, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	require.NoError(t, err)
	return layout
}

// The scheduler's calls are resolved by exact name, whatever variants a kernel has beside it.
func TestBindKfunc(t *testing.T) {
	const v2 = insertKfunc + "___v2"
	for kernel, names := range map[string][]string{
		"6.13": {insertKfunc}, "7.2": {insertKfunc, v2}, "7.3": {insertKfunc, v2, v2 + "_impl"}, "7.3, in another order": {v2 + "_impl", v2, insertKfunc},
	} {
		spec, err := object.Spec(aggregateObject)
		require.NoError(t, err)
		layout := layoutOf(t, names...)
		before := callsOf(spec)
		require.NoError(t, bindKfunc(spec, layout, insertKfunc))
		require.Empty(t, callsOf(spec), kernel)
		for _, ins := range before { // a test and a call in each of select_cpu, enqueue, dispatch
			f, err := layout.TypeByID(btf.TypeID(ins.Constant))
			require.NoError(t, err, kernel)
			assert.Equal(t, insertKfunc, f.TypeName(), kernel)
		}
	}
	spec, err := object.Spec(aggregateObject)
	require.NoError(t, err)
	require.NoError(t, bindKfunc(spec, layoutOf(t, "scx_bpf_dispatch"), insertKfunc))
	assert.NotEmpty(t, callsOf(spec), "6.12 has none: left to the loader")
}

// callsOf are the instructions of an object that the loader would resolve.
func callsOf(spec *ebpf.CollectionSpec) (found []*asm.Instruction) {
	for _, program := range spec.Programs {
		for i := range program.Instructions {
			if ins := &program.Instructions[i]; ins.Reference() == insertKfunc {
				found = append(found, ins)
			}
		}
	}
	return found
}
