package cli

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
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
		"--columns pid,cpu_":           "pid,cpu_percent pid,cpu_quota",
		"--sort=-rss":                  "-rss_bytes",
		"--filter nginx\\ rss":         "nginx rss_bytes=",
		"--output j":                   "json",
		"irq list --output c":          "csv",
		"bench nq":                     "nqueens",
		"bench nqueens --place fi":     "fifo:",
		"bench nqueens --place llc+n":  "llc+nice:",
		"bench nqueens --place nor":    "normal",
		"bench nqueens --place no":     "normal node",
		"bench nqueens --place llc+l":  "",
		"bench nqueens --place llc+no": "",
		"--columns pid,pid":            "",
		"isolate online,o":             "",
		"--sort -rss":                  "-rss_bytes",
		"help __":                      "",
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

// TestBashCompletionAlone presses TAB in a bash without the package bash-completion.
func TestBashCompletionAlone(t *testing.T) {
	t.Parallel()
	press := newBash(t)
	for line, want := range map[string]string{
		`piton pi`:                                  `piton pin `,
		`piton pin 1 --place ll`:                    `piton pin 1 --place llc `,
		`piton pin 1 --place=ll`:                    `piton pin 1 --place=llc `,
		`piton --filter 'a b' --columns pp`:         `piton --filter 'a b' --columns ppid `,
		`piton --filter user:root\ us`:              `piton --filter user:root\ user=`,
		`piton --filter=user:root\ us`:              `piton --filter=user:root\ user=`,
		`piton --filter 'us`:                        `piton --filter 'user=`,
		`piton --filter 'mig>10 us`:                 `piton --filter 'mig>10 user=`,
		`piton --filter "mig>10 us`:                 `piton --filter "mig>10 user=`,
		`piton --filter 'mig>10 'us`:                `piton --filter 'mig>10 'user=`,
		`piton --filter mig\>10\ us`:                `piton --filter mig\>10\ user=`,
		`piton --columns pid,us`:                    `piton --columns pid,user `,
		`piton --columns "pid,us`:                   `piton --columns "pid,user" `,
		`piton --columns pid,pid`:                   `piton --columns pid,pid`,
		`piton pin 1 --cpu node:0,on`:               `piton pin 1 --cpu node:0,online `,
		`piton --sort -rs`:                          `piton --sort -rss_bytes `,
		`piton --sort=-rs`:                          `piton --sort=-rss_bytes `,
		`piton bench nqueens --place "nor`:          `piton bench nqueens --place "normal" `,
		`piton bench nqueens --place llc+fi`:        `piton bench nqueens --place llc+fifo:`,
		`piton bench nqueens --place normal+fi`:     `piton bench nqueens --place normal+fi`,
		`piton help __c`:                            `piton help __c`,
		`piton --headless 2>/dev/null --sor`:        `piton --headless 2>/dev/null --sort `,
		`A=1 piton --sor`:                           `A=1 piton --sort `,
		`true; piton pi`:                            `true; piton pin `,
		`short --sor`:                               `short --sort `, // an alias
		`piton --filter "a\"b" --sor`:               `piton --filter "a\"b" --sort `,
		`piton --filter 'it'\''s' --sor`:            `piton --filter 'it'\''s' --sort `,
		`piton --filter "x$(echo a; echo b)" --sor`: `piton --filter "x$(echo a; echo b)" --sort `,
	} {
		assert.Equal(t, want, press(line), line)
	}
}

// TestBashCompletionRunsNothing presses TAB behind what the shell would run on Enter.
func TestBashCompletionRunsNothing(t *testing.T) {
	t.Parallel()
	press := newBash(t)
	made := filepath.Join(t.TempDir(), "made")
	for _, word := range []string{
		`"x$(touch MADE)"`, `x$(touch MADE)`, "`touch MADE`", "\"`touch MADE`\"", `"$(touch "MADE")"`, `<(touch MADE)`, `>MADE`,
		`x;touch MADE;piton`, `'x';touch${IFS}MADE;piton`, `$((a[$(touch MADE)]))`, `a[$(touch MADE)]`, `${x:=$(touch MADE)}`, `\'$(touch MADE)\'`,
	} {
		for _, line := range []string{"piton --headless --filter " + word + " --sort rs", "piton --filter " + word, "piton --columns " + word + ",us", word + " piton pi"} {
			line = strings.ReplaceAll(line, "MADE", made)
			press(line)
			require.NoFileExists(t, made, line)
		}
	}
	line := `piton --headless --filter "x$(touch ` + made + `)" --sort rs`
	assert.Equal(t, line+"s_bytes ", press(line), "it completes all the same")
	require.NoFileExists(t, made)
}

// newBash starts an interactive bash with the completion. What it returns types a line and TAB, and
// gives what the line is then.
func newBash(t *testing.T) func(line string) string {
	t.Helper()
	needTools(t, "bash")
	self, err := os.Executable()
	require.NoError(t, err)
	h := newHome(t)
	script := h.run("completion", "bash")
	require.Zero(t, script.code, script.err)
	rc := filepath.Join(t.TempDir(), "rc")
	require.NoError(t, os.WriteFile(rc, []byte(script.out+`
piton() { `+asProgram+`=1 "$SELF" "$@"; }
alias short=piton
complete -o default -F __start_piton short
unset HISTFILE
taken() { printf '%s\n' "$READLINE_LINE" >&3; READLINE_LINE= READLINE_POINT=0; }
bind -x '"\C-xt": taken'
PROMPT_COMMAND='echo ready >&3'
`), 0o600))
	lines, writes, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("bash", "--noprofile", "--rcfile", rc, "-i")
	cmd.Env = append(h.env, "SELF="+self, "INPUTRC=/dev/null", "TERM=dumb")
	cmd.Dir = t.TempDir()
	cmd.ExtraFiles = []*os.File{writes}
	terminal, err := pty.Start(cmd)
	require.NoError(t, err)
	require.NoError(t, writes.Close())
	var drained sync.WaitGroup
	drained.Go(func() { _, _ = io.Copy(io.Discard, terminal) })
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = terminal.Close()
		drained.Wait()
		_ = lines.Close()
	})
	read := bufio.NewReader(lines)
	next := func() string {
		require.NoError(t, lines.SetReadDeadline(time.Now().Add(time.Minute)))
		line, err := read.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSuffix(line, "\n")
	}
	require.Equal(t, "ready", next())
	return func(line string) string {
		_, err := io.WriteString(terminal, line+"\t\x18t")
		require.NoError(t, err)
		return next()
	}
}
