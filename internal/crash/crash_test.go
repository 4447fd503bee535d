package crash_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGoroutinesAreHandled finds goroutines of the screen, and of what it starts, that do not
// begin with defer crash.Handle().
func TestGoroutinesAreHandled(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{$d := .Dir}}{{$p := .ImportPath}}{{range .GoFiles}}{{$p}} {{$d}}/{{.}}{{"\n"}}{{end}}`,
		"piton/internal/tui", "piton/internal/demo", "piton/internal/sample", "piton/internal/bench/runner", "piton/internal/paper",
		"piton/internal/change/guard", "piton/internal/partition").Output()
	require.NoError(t, err)
	self, err := exec.Command("go", "list", "-f", `{{$d := .Dir}}{{range .GoFiles}}piton/internal/cli {{$d}}/{{.}}{{"\n"}}{{end}}`, "piton/internal/cli").Output()
	require.NoError(t, err)
	seen := 0
	for line := range strings.Lines(string(out) + string(self)) {
		pkg, file, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.HasPrefix(pkg, "piton/internal/") { // workloads are processes of their own
			continue
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			var started ast.Expr
			switch n := n.(type) {
			case *ast.GoStmt:
				started = n.Call.Fun
			case *ast.CallExpr: // of a WaitGroup
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" && len(n.Args) == 1 {
					started = n.Args[0]
				}
			}
			if started != nil {
				seen++
				assert.True(t, handled(started), "%s: a goroutine without defer crash.Handle()", files.Position(n.Pos()))
			}
			return true
		})
	}
	assert.Greater(t, seen, 10)
}

func handled(started ast.Expr) bool {
	f, ok := started.(*ast.FuncLit)
	if !ok || len(f.Body.List) == 0 {
		return false
	}
	d, ok := f.Body.List[0].(*ast.DeferStmt)
	if !ok {
		return false
	}
	if own, ok := d.Call.Fun.(*ast.Ident); ok { // of this package
		return own.Name == "Handle"
	}
	call, ok := d.Call.Fun.(*ast.SelectorExpr)
	if !ok || call.Sel.Name != "Handle" {
		return false
	}
	in, ok := call.X.(*ast.Ident)
	return ok && in.Name == "crash"
}
