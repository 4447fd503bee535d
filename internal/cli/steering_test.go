package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/kernel/kerneltest"
)

const harmlessRules = "version = 1\n[[rule]]\nname = 'r'\ncomm = 'made-up-name'\nnice = 1\n"

// TestRootFollowsNoFileOfOthers is that rules and profiles that another user can change
// do not steer root; commands that only show them say so.
func TestRootFollowsNoFileOfOthers(t *testing.T) {
	kerneltest.NeedRoot(t, "to give files to others")
	h, dir := newHome(t), t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	rules, sysctls := filepath.Join(dir, "x.toml"), filepath.Join(dir, "web.conf")
	require.NoError(t, os.WriteFile(rules, []byte(harmlessRules), 0o644))
	require.NoError(t, os.WriteFile(sysctls, []byte("[main]\ninclude=throughput\n[sysctl]\nmade.up.name=1\n"), 0o644))
	const refusal = "root follows no file that others can change"
	for _, args := range [][]string{{"rules", "run", rules}, {"apply", sysctls}} {
		r := h.run(args...)
		assert.Equal(t, exit.NotPermitted, r.code, args)
		assert.Contains(t, r.err, "others may write to "+dir+" (mode 0777)", args)
	}
	for _, args := range [][]string{{"rules", "check", rules}, {"rules", "explain", "1", rules}, {"verify", sysctls}, {"apply", sysctls, "--check"}} {
		r := h.run(args...)
		assert.NotEqual(t, exit.NotPermitted, r.code, args)
		assert.Contains(t, r.err, "would not be applied: others may write to "+dir, args)
		assert.Contains(t, r.err, refusal, args)
	}
	assert.Contains(t, h.run("verify", sysctls).err, "include = throughput is not followed")
}

// TestRootReloadsNoFileOfOthers gives the file of a daemon to another user.
func TestRootReloadsNoFileOfOthers(t *testing.T) {
	kerneltest.NeedRoot(t, "to give files to others")
	d := startRules(t, newHome(t), harmlessRules)
	require.NoError(t, os.Chown(d.file, 1234, -1))
	require.NoError(t, syscall.Kill(int(d.pid), syscall.SIGHUP))
	eventually(t, "it refuses the file", func() bool { return d.event("refused") != nil })
	assert.Contains(t, d.event("refused")["message"], d.file+" belongs to user 1234")
	assert.Nil(t, d.event("reloaded"))
}

// TestRootUsesNoConfigurationOfOthers is sudo -E, which keeps HOME.
func TestRootUsesNoConfigurationOfOthers(t *testing.T) {
	kerneltest.NeedRoot(t, "to give files to others")
	h := newHome(t)
	dir := filepath.Join(t.TempDir(), "user")
	own := filepath.Join(dir, ".config", "piton")
	require.NoError(t, os.MkdirAll(filepath.Join(own, "profiles"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(own, "rules.toml"), []byte(harmlessRules), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(own, "profiles", "made-up-web.toml"), []byte("version = 1\n"), 0o644))
	require.NoError(t, os.Chown(dir, 1234, -1))
	h.env = append(h.env, "HOME="+dir, "XDG_CONFIG_HOME=")
	r := h.run("rules", "check")
	assert.Equal(t, 1, strings.Count(r.err, filepath.Join(own, "rules.toml")+" is not used: "+dir+" belongs to user 1234"), r.err)
	assert.NotContains(t, r.out+r.err, "made-up-name")
	r = h.run("apply", "made-up-web")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, filepath.Join(own, "profiles")+" is not used: "+dir+" belongs to user 1234")
	r = h.run("profiles")
	assert.NotContains(t, r.out, "made-up-web")
}

// TestUnknownUserOfARule is a warning: the user may be made later.
func TestUnknownUserOfARule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.toml")
	require.NoError(t, os.WriteFile(file, []byte("version = 1\n[[rule]]\nname = 'r'\nuser = 'no-such-user'\nnice = 1\n"), 0o600))
	r := newHome(t).run("rules", "check", file)
	assert.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, `rule "r" (line 2): there is no user "no-such-user"`)
}

// readers are the places of internal/cli that read files; what steers a change is read by
// app.Steering alone. Whoever adds a line says why that file steers nothing.
var readers = map[string]string{
	"app/steering.go Steering":            "the one reader of what steers a change",
	"app/steering.go ReadAll":             "standard input, which the caller gives",
	"config/config.go OpenState":          "config.toml: of the caller alone, below app.ConfigFile",
	"config/config.go ReadAll":            "the same",
	"profilecmd/profiles.go ReadDir":      "names of profiles, to be listed",
	"profilecmd/profiles.go Steering":     "what profiles have, to be listed",
	"tunecmd/run_cgroup.go Open":          "a control group of piton's own",
	"watchcmd/doctor_features.go ReadDir": "whether debugfs shows anything",
	"recordcmd/row.go ReadDir":            "names of the files of a record, which steers nothing",
}

// TestFilesThatSteerHaveOneReader finds every call that reads a file.
func TestFilesThatSteerHaveOneReader(t *testing.T) {
	calls := map[string][]string{
		"os":       {"Open", "OpenFile", "ReadFile", "ReadDir", "DirFS", "OpenRoot"},
		"userfile": {"Read", "ReadAll", "OpenState", "Steering"},
		"ioutil":   {"ReadFile"}, "toml": {"DecodeFile"}, "kernel": {"OpenFile", "OpenResolved"},
	}
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := call.X.(*ast.Ident); ok && slices.Contains(calls[pkg.Name], call.Sel.Name) {
					found[filepath.ToSlash(path)+" "+call.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	for call := range found {
		assert.Contains(t, readers, call, "%s reads a file; what steers a change is read by app.Steering", call)
	}
	for call := range readers {
		assert.True(t, found[call], "%s is there no more", call)
	}
}

// TestRootSaysWhichStateItDoesNotUse is $XDG_STATE_HOME of another user.
func TestRootSaysWhichStateItDoesNotUse(t *testing.T) {
	kerneltest.NeedRoot(t, "to give a directory to others")
	dir := t.TempDir()
	require.NoError(t, os.Chown(dir, 1234, -1))
	h := newHome(t)
	h.env[0] = "XDG_STATE_HOME=" + dir
	r := h.run("journal", "-o", "json")
	assert.Contains(t, r.err, "$XDG_STATE_HOME is not used: "+dir+" belongs to user 1234")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
