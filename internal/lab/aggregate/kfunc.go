package aggregate

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// bindKfunc resolves a program's calls of one kernel function, and the tests whether there is one,
// where the kernel has it. The loader does so for all others. Where NAME has two flavours, it takes
// the second, NAME___x_impl, for another NAME (btf.Spec.AnyTypesByName of cilium/ebpf 0.22), and
// refuses to load: Linux 7.3 has those three of scx_bpf_dsq_insert.
func bindKfunc(spec *ebpf.CollectionSpec, layout *btf.Spec, name string) error {
	types, err := layout.AnyTypesByName(name)
	if err != nil && !errors.Is(err, btf.ErrNotFound) {
		return err
	}
	for _, t := range types {
		f, ok := t.(*btf.Func)
		if !ok || f.Name != name {
			continue
		}
		id, err := layout.TypeID(f)
		if err != nil {
			return err
		}
		for _, program := range spec.Programs {
			for i := range program.Instructions {
				if ins := &program.Instructions[i]; ins.Reference() == name {
					ins.Constant, ins.Metadata = int64(id), asm.Metadata{} // which would have the loader look again
				}
			}
		}
	}
	return nil
}
