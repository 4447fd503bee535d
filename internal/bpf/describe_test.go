package bpf

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"
)

// largeConstant is above what compilers choose differently: stack offsets, shifts
// and lengths of copies.
const largeConstant = 255

// describe lists what every clang makes of the same sources (tried: 14, 16, 19),
// in order and without repetition.
func describe(t *testing.T, spec *ebpf.CollectionSpec) []string {
	t.Helper()
	all := map[string]bool{}
	say := func(format string, args ...any) { all[fmt.Sprintf(format, args...)] = true }
	for name, m := range spec.Maps {
		say("map %s: %v, extra %d, inner %v, key %9v, value %9v", name, m, m.MapExtra, m.InnerMap, m.Key, m.Value)
	}
	for name, v := range spec.Variables {
		say("variable %s of %s: % x", name, v.SectionName, v.Value)
	}
	for name, p := range spec.Programs {
		say("program %s: %v %v to %q in %s, flags %d, license %s", name, p.Type, p.AttachType, p.AttachTo, p.SectionName, p.Flags, p.License)
		for i := range p.Instructions {
			describeInstruction(&p.Instructions[i], func(format string, args ...any) {
				say("program "+name+": "+format, args...)
			})
		}
	}
	for typ, err := range spec.Types.All() {
		require.NoError(t, err)
		say("type %s", describeType(typ))
	}
	return slices.Sorted(maps.Keys(all))
}

func describeInstruction(ins *asm.Instruction, say func(format string, args ...any)) {
	if f := btf.FuncMetadata(ins); f != nil {
		say("has %9v", f)
	}
	if r := btf.CORERelocationMetadata(ins); r != nil {
		say("asks for %v", r)
	}
	switch {
	case ins.IsBuiltinCall():
		say("calls helper %d", ins.Constant)
	case ins.IsKfuncCall(), ins.IsFunctionReference(), ins.IsLoadFromMap():
		say("uses %s", ins.Reference())
	case ins.Constant > largeConstant || ins.Constant < -largeConstant:
		say("has the constant %d", ins.Constant)
	}
}

// describeType adds to what a type prints the types of its parts.
func describeType(typ btf.Type) string {
	text := fmt.Sprintf("%9v", typ)
	switch t := typ.(type) {
	case *btf.Struct:
		text += describeMembers(t.Members)
	case *btf.Union:
		text += describeMembers(t.Members)
	case *btf.Enum:
		text += fmt.Sprint(t.Values)
	case *btf.Var:
		text += fmt.Sprintf(" %9v", t.Type)
	case *btf.FuncProto:
		for _, p := range t.Params {
			text += fmt.Sprintf(" %s %9v", p.Name, p.Type)
		}
	}
	return text
}

func describeMembers(members []btf.Member) (text string) {
	for _, m := range members {
		text += fmt.Sprintf(" %s@%d/%d %9v", m.Name, m.Offset, m.BitfieldSize, m.Type)
	}
	return text
}
