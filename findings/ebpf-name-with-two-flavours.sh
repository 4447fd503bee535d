#!/usr/bin/env bash
# cilium/ebpf 0.22.0: in a kernel's BTF that has the functions f, f___v2 and f___v2_impl,
# Spec.AnyTypesByName("f") returns f and f___v2_impl, but not f___v2, and TypeByName("f")
# fails with "multiple matching types" though one function has exactly that name. What is
# found by the essential name is filtered by the whole one, in a loop that passes over the
# entry after each that it takes out: of two flavours in a row the second stays.
#
# Linux 7.3 has such three functions (scx_bpf_dsq_insert, …___v2, …___v2_impl), so a
# sched_ext scheduler that calls the first is refused by the loader there, and loads on 7.2,
# which has the first two.
#
# Seen on 2026-11-27 with go 1.26:
#   f: [f] <nil>
#   f f___v2: [f] <nil>
#   f f___v2 f___v2_impl: [f f___v2_impl] type f(*btf.Func): multiple matching types
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'EOF'
module finding

go 1.25

require github.com/cilium/ebpf v0.22.0
EOF
cat >main.go <<'EOF'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// layout is the BTF of a kernel with functions of these names.
func layout(names ...string) *btf.Spec {
	b, err := btf.NewBuilder(nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range names {
		if _, err := b.Add(&btf.Func{Name: name, Type: &btf.FuncProto{Return: &btf.Void{}}}); err != nil {
			log.Fatal(err)
		}
	}
	raw, err := b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian})
	if err != nil {
		log.Fatal(err)
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		log.Fatal(err)
	}
	return spec
}

func main() {
	for _, names := range [][]string{{"f"}, {"f", "f___v2"}, {"f", "f___v2", "f___v2_impl"}} {
		spec := layout(names...)
		types, err := spec.AnyTypesByName("f")
		if err != nil {
			log.Fatal(err)
		}
		var found []string
		for _, t := range types {
			found = append(found, t.TypeName())
		}
		var f *btf.Func
		fmt.Printf("%s: %v %v\n", strings.Join(names, " "), found, spec.TypeByName("f", &f))
	}
}
EOF
export GOFLAGS=-mod=mod GOCACHE="$dir/cache" GOMODCACHE="$dir/mod" CGO_ENABLED=0
got=$(go run . 2>/dev/null)
echo "$got"
test "$got" = 'f: [f] <nil>
f f___v2: [f] <nil>
f f___v2 f___v2_impl: [f f___v2_impl] type f(*btf.Func): multiple matching types'
