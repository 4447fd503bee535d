package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/change/journal"
)

// TestManPage finds every command, flag and file in the page, and gives the page
// to what typesets manuals.
func TestManPage(t *testing.T) {
	r := newHome(t).run("man")
	require.Zero(t, r.code, r.err)
	root := newRoot(&app{})
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		assert.Contains(t, r.out, escapeRoff(c.CommandPath()))
		for _, sub := range c.Commands() {
			if sub.Runnable() && !sub.Hidden {
				walk(sub)
			}
		}
	}
	walk(root)
	for _, want := range []string{".SH EXIT STATUS", `\fB\-\-revert\-after\fR duration`, "HEADLESS", "KEYS", `\fB\-d, \-\-delay\fR duration`, "(default 1s)"} {
		assert.Contains(t, r.out, want)
	}
	none := func(string) string { return "/state" }
	results, err := bench.DefaultStorePath(none, 0)
	require.NoError(t, err)
	for _, file := range []string{journal.Path(none, 0), results} {
		assert.Contains(t, r.out, "$XDG_STATE_HOME/piton/"+filepath.Base(file))
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	cmd := exec.Command(groff, "-man", "-ww", "-K", "utf8", "-T", "utf8", "-P", "-c")
	cmd.Stdin = strings.NewReader(r.out)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	set, err := cmd.Output()
	require.NoError(t, err)
	assert.Empty(t, complaints.String())
	assert.Contains(t, string(set), "piton apply rt.toml --check")
}

func TestManText(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"one\ntwo\n", ".PP\none\ntwo\n"},
		{"one\n\ntwo", ".PP\none\n.PP\n.PP\ntwo\n"},
		{"one\n  {\"v\":1}\nand", ".PP\none\n.RS 2\n.EX\n{\"v\":1}\n.EE\n.RE\n.PP\nand\n"},
		{"\tpiton man", ".RS 2\n.EX\n\tpiton man\n.EE\n.RE\n"},
		{".not -a request\n'nor\\this", ".PP\n\\&.not \\-a request\n\\&'nor\\ethis\n"},
	} {
		var p page
		p.text(tt.text)
		assert.Equal(t, tt.want, p.String(), "%q", tt.text)
	}
}
