package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

var house = map[string][]string{
	"piton/internal/kernel": {"os"},
	"piton/internal/change": {"os", "piton/internal/kernel"},
	"piton/internal/tui":    {"piton/internal/change", "piton/internal/kernel"},
	"piton/internal/chart":  {"fmt"},
	"piton/cmd/piton":       {"piton/internal/tui", "piton/internal/change", "piton/internal/kernel"},
}

func TestConcernedBy(t *testing.T) {
	for _, c := range []struct {
		name, everything string
		files, want      []string
	}{
		{"nothing", "", nil, nil},
		{"a package and what imports it", "", []string{"internal/tui/model.go"}, []string{"piton/cmd/piton", "piton/internal/tui"}},
		{"what all import", "", []string{"internal/kernel/file.go"},
			[]string{"piton/cmd/piton", "piton/internal/change", "piton/internal/kernel", "piton/internal/tui"}},
		{"a file below a package", "", []string{"internal/chart/testdata/x/golden.txt"}, []string{"piton/internal/chart"}},
		{"a page of the help", "", []string{"cmd/piton/help/keys.md"}, []string{"piton/cmd/piton"}},
		{"words and tools", "", []string{"README.md", ".ci/run", "Makefile", "testdata/pictures/demo.svg"}, nil},
		{"the libraries", "go.mod", []string{"internal/tui/model.go", "go.mod"}, nil},
		{"recorded hosts", "testdata/hosts/vm/proc/stat", []string{"testdata/hosts/vm/proc/stat"}, nil},
		{"a package that is gone", "internal/gone/gone.go", []string{"internal/gone/gone.go"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			concerned, everything := concernedBy(c.files, house)
			assert.Equal(t, c.everything, everything)
			maps.DeleteFunc(concerned, func(_ string, is bool) bool { return !is })
			assert.Equal(t, c.want, slices.Sorted(maps.Keys(concerned)))
		})
	}
}

func TestPlain(t *testing.T) {
	assert.Equal(t, "piton/internal/tui", plain("piton/internal/tui [piton/internal/cli.test]"))
	assert.Equal(t, "os", plain("os"))
}
