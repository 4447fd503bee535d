#!/bin/sh
# Compiles the programs of c/ and ../lab/c/ into the objects that are embedded, and records in
# objects.sum what they were made of (sha256sum -c objects.sum). Another clang
# makes other objects of the same sources, so only the version that made the
# committed ones may replace them. With a folder as its argument it compiles into
# that, with whatever clang there is (TestObjectsMatchSources).
set -eu
version=14.0.6
into=${1:-.}
found=$(clang -dumpversion 2>/dev/null || true)
if [ $# = 0 ] && [ "$found" != $version ]; then
	echo "internal/bpf: objects left as they are: they are made by clang $version, here is ${found:-none} (apt install clang llvm)" >&2
	exit 0
fi
for program in walk seq count moves ledger noise wakes flows work procevents changes ./waits ../lab/aggregate ../lab/steer ../lab/hint; do # a name, or the package that has it
	name=${program##*/} folder=. package=bpf source=c/$program.c
	if [ "$name" != "$program" ]; then
		folder=$program package=$name source=${program%/*}/c/$name.c
	fi
	mkdir -p "$into/$folder"
	go tool bpf2go -go-package $package -output-dir "$into/$folder" -target bpfel -no-global-types -cflags "-O2 -Wall -Werror -mcpu=v3 -Ic" $name $source
	rm "$into/$folder/${name}_bpfel.go" # piton loads the object by the names of its programs, maps and variables
done
if [ $# = 0 ]; then
	{ echo "# clang $found"; LC_ALL=C sha256sum generate.sh c/* ../lab/c/* ./*_bpfel.o ./*/*_bpfel.o ../lab/*/*_bpfel.o | sed 's| \./| |'; } >objects.sum
fi
