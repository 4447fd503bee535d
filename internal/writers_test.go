package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writers are the files of the program that open others for writing, and what
// those are. The machine is changed by change, through kernel, so that it is
// journalled and can be undone; whoever adds a line here says why that is not so.
var writers = map[string]string{
	"change/guard/main.go":      "the guard's own name, oom_score_adj and cgroup",
	"kernel/clock.go":           "how late timers of piton itself may be",
	"kernel/kernelfake/proc.go": "files of made-up machines, below the temporary directory",
	"kernel/held.go":            "a file of a process that is held, for change",
	"kernel/setting.go":         "settings, for change",
	"userfile/folder.go":        "files of the user, replaced whole",
	"userfile/read.go":          "files that the user names and those that piton keeps",
}

// TestWritersAreKnown finds every call that opens a file for writing.
func TestWritersAreKnown(t *testing.T) {
	opens := []string{"WriteFile", "OpenFile", "Create", "CreateTemp", "OpenResolved"}
	found := map[string]bool{}
	eachFile(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok && slices.Contains(opens, call.Sel.Name) {
				if pkg, ok := call.X.(*ast.Ident); ok && (pkg.Name == "os" || call.Sel.Name == "OpenResolved") {
					found[path] = true
				}
			}
			return true
		})
	})
	for path := range found {
		assert.Contains(t, writers, path, "%s opens files for writing", path)
	}
	for path := range writers {
		assert.True(t, found[path], "%s opens none any more", path)
	}
}

// eachFile visits the files of the program, by their paths below internal.
func eachFile(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || forTests(path) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(filepath.ToSlash(path), file)
		}
		return err
	}))
}

// forTests reports whether only tests import the file's package.
func forTests(path string) bool {
	dir := filepath.Base(filepath.Dir(path))
	return strings.HasSuffix(dir, "test") || dir == "golden"
}

// TestTreesAreReadInside finds what would read a tree that others made by the os package, which
// follows links out of it and opens devices; kernel/tree and procfs do not.
func TestTreesAreReadInside(t *testing.T) {
	calls := map[string][]string{
		"os":       {"Open", "ReadFile", "ReadDir", "Stat", "Lstat", "Readlink", "DirFS"},
		"filepath": {"Glob", "EvalSymlinks", "WalkDir", "Walk"},
	}
	seen := 0
	for _, dir := range []string{"procfs", "topology", "irq", "sample", "users", "taskfacts", "place", "model", "bench", "change/attr", "change/overwriter",
		"profile", "tui/meters", "tui/detail"} {
		files, err := filepath.Glob(dir + "/*.go")
		require.NoError(t, err)
		for _, path := range files {
			switch {
			case strings.HasSuffix(path, "_test.go"),
				path == "users/directory.go", // asked of the running machine only
				path == "profile/store.go":   // the user's profiles
				continue
			}
			seen++
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.SelectorExpr); ok {
					pkg, _ := call.X.(*ast.Ident)
					assert.False(t, pkg != nil && slices.Contains(calls[pkg.Name], call.Sel.Name), "%s calls %v.%s", path, pkg, call.Sel.Name)
				}
				return true
			})
		}
	}
	assert.Greater(t, seen, 100)
}
