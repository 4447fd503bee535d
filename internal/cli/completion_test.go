package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompletion(t *testing.T) {
	h := newHome(t)
	for line, want := range map[string]string{
		"pin 1 --place l":              "least-loaded llc",
		"pin 1 --cpu 0-3,no":           "0-3,nohz_full 0-3,node:",
		"run --pin sp":                 "spread",
		"run --policy f":               "fifo:",
		"policy f":                     "",
		"policy 3641 f":                "fifo:",
		"ionice 3641 be":               "best-effort:",
		"--columns pid,cpu_":           "pid,cpu_percent",
		"--sort=-rss":                  "-rss_bytes",
		"--filter nginx\\ rss":         "nginx rss_bytes=",
		"--output j":                   "json",
		"irq list --output c":          "csv",
		"bench nq":                     "nqueens",
		"bench nqueens --place fi":     "fifo:",
		"bench nqueens --place llc+n":  "llc+normal llc+node llc+nice:",
		"bench report --workload mat":  "matrix",
		"bench attach 3641 --rate run": "run-delay",
		"bench paper nq":               "nqueens",
		"isolate nod":                  "node:",
		"schema topo":                  "topo.machine topo.node topo.cpu",
		"--source p":                   "proc",
	} {
		words := strings.Split(strings.ReplaceAll(line, "\\ ", "\x00"), " ")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\x00", " ")
		}
		r := h.run(append([]string{"__completeNoDesc"}, words...)...)
		require.Zero(t, r.code, r.err)
		got, _, _ := strings.Cut(r.out, ":4\n")
		got, _, _ = strings.Cut(got, ":6\n")
		assert.Equal(t, want, strings.Join(strings.Split(strings.TrimSpace(got), "\n"), " "), line)
	}
}

// TestBashCompletionAlone runs the script in a bash without the package bash-completion.
func TestBashCompletionAlone(t *testing.T) {
	needTools(t, "bash")
	self, err := os.Executable()
	require.NoError(t, err)
	h := newHome(t)
	script := h.run("completion", "bash")
	require.Zero(t, script.code, script.err)
	for line, want := range map[string]string{
		"piton pi":                          "pin",
		"piton pin 1 --place ll":            "llc",
		"piton pin 1 --place=ll":            "llc",
		"piton --filter 'a b' --columns pp": "ppid",
		"piton bench nqueens --place ":      "normal",
	} {
		cmd := exec.Command("bash", "--norc", "--noprofile", "-c", script.out+`
piton() { `+asProgram+`=1 "$SELF" "$@"; }
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_WORDS=($1) COMP_CWORD=1
__start_piton
printf '%s\n' "${COMPREPLY[@]}"`, "bash", line)
		cmd.Env = append(h.env, "SELF="+self)
		var errs strings.Builder // compopt complains: bash completes nothing itself
		cmd.Stderr = &errs
		out, err := cmd.Output()
		require.NoError(t, err, errs.String())
		assert.NotContains(t, errs.String(), "not found", line)
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		name, _, _ := strings.Cut(first, " ")
		assert.Equal(t, want, name, "%s: %s", line, out)
	}
}
