package internal_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestKernelStartsPrograms finds what starts a program past kernel.Start and kernel.Run, with
// what piton sets for itself (kernel.DisableHugePages).
func TestKernelStartsPrograms(t *testing.T) {
	ofCmd := []string{"Start", "Run", "Output", "CombinedOutput"}
	ofPackage := []string{"os.StartProcess", "syscall.Exec", "syscall.ForkExec", "syscall.StartProcess"}
	seen := 0
	eachFile(t, func(path string, file *ast.File) {
		dir, _, _ := strings.Cut(path, "/")
		usesExec := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"os/exec"` })
		if dir == "kernel" || dir == "dev" || dir == "cost" { // the latter two are programs of their own
			return
		}
		if usesExec {
			seen++
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				pkg, _ := f.X.(*ast.Ident)
				assert.False(t, usesExec && len(call.Args) == 0 && slices.Contains(ofCmd, f.Sel.Name) ||
					pkg != nil && slices.Contains(ofPackage, pkg.Name+"."+f.Sel.Name), "%s calls %s", path, f.Sel)
			}
			return true
		})
	})
	assert.Greater(t, seen, 10)
}
