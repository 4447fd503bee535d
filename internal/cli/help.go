package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"piton/cmd/piton/help"
	"piton/internal/cli/app"
	"piton/internal/cli/flags"
	"piton/internal/group"
)

// topic is a page of the help that is about no single command.
type topic struct{ name, short string }

// topics are in the order of `piton help`. Each has a page in cmd/piton/help.
var topics = []topic{
	{"keys", "the keys of the screen, and the commands that do the same"},
	{"htop", "each key of htop 3.5, and the key that does the same here"},
	{"columns", "the columns: headings, ids, meanings"},
	{"filters", "the filter language of --filter, F4 and columns"},
	{"targets", "TARGET: which tasks a command means"},
	{"cpus", "CPUS: lists, strides, nodes, caches; how piton chooses a CPU"},
	{"headless", "--headless for scripts: samples, columns, filters"},
	{"json", "JSON lines and CSV: types, names, their schema"},
	{"examples", "the commands at a glance"},
	{"tuna", "each command and option of tuna 0.19, and piton's"},
	{"rules-file", "rules files for piton rules: matchers, settings, when they apply"},
	{"record-file", "files of piton record: what is in them, and their format"},
	{"rights", "what piton can do without root, and what each capability adds"},
	{"sources", "where the figures come from"},
	{"safety", "how changes are made, recorded, undone and reverted"},
	{"exit-codes", "the exit codes"},
	{"config", "files and environment variables"},
	{"costs", "measured: CPU, memory, bytes and latency beside htop, top and tuna"},
	{"trust", "measured: how often choices and verdicts are right, and where piton has run"},
}

// topicCommands are the commands of the topics.
func topicCommands() app.Commands {
	out := app.Commands{}
	for _, t := range topics {
		out[t.name] = func(a *app.App) *cobra.Command { return newTopic(a, t) }
	}
	return out
}

// newTopic is "piton help TOPIC". The page is laid out when it is asked for: every
// start of the screen makes the commands.
func newTopic(a *app.App, t topic) *cobra.Command {
	cmd := &cobra.Command{Use: t.name, Short: t.short}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		page, err := Page(t.name, a.ReadOnly)
		if err != nil {
			a.WriteErr = err
			return
		}
		_, _ = io.WriteString(a, pageText(page, pageWidth(a)))
	})
	return cmd
}

// pageWidth is the width of the terminal within what is easy to read, in columns.
func pageWidth(a *app.App) int {
	const narrowest, usual, widest = 60, 100, 120
	if width, ok := app.TerminalWidth(a.Out); ok {
		return min(max(width, narrowest), widest)
	}
	return usual
}

// Topics are the names of the topics of `piton help`.
func Topics() []string { return group.Each(topics, func(t topic) string { return t.name }) }

// Page is the page of a topic in Markdown, its generated parts made now. In read-only
// mode keys that change the system are left out.
func Page(topic string, readonly bool) (string, error) {
	data, err := help.Pages.ReadFile(topic + ".md")
	if err != nil {
		return "", err
	}
	return fillPage(string(data), readonly)
}

// PageText is the page of a topic as `piton help` prints it at a width, in columns.
func PageText(topic string, width int) (string, error) {
	page, err := Page(topic, false)
	return pageText(page, width), err
}

// fillPage makes what stands between the markers of a page.
func fillPage(page string, readonly bool) (string, error) {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(page, "<!-- begin ")
		if !ok {
			out.WriteString(page)
			return out.String(), nil
		}
		name, rest, _ := strings.Cut(rest, " -->\n")
		end := fmt.Sprintf("<!-- end %s -->\n", name)
		_, after, ended := strings.Cut(rest, end)
		part := parts[name]
		if part == nil || !ended {
			return "", fmt.Errorf("help page: no part %q, or no end of it", name)
		}
		fmt.Fprintf(&out, "%s<!-- begin %s -->\n\n%s\n%s", before, name, part(readonly), end)
		page = after
	}
}

// checkTopic refuses words behind a topic of the help, which cobra passes over.
func checkTopic(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil || !isTopic(cmd) || cmd.ParseFlags(rest) != nil {
		return nil // cobra reports it
	}
	return flags.NoArgs(cmd, cmd.Flags().Args())
}

// isTopic reports whether a command is a topic of the help: it runs nothing.
func isTopic(cmd *cobra.Command) bool { return !cmd.Runnable() && !cmd.HasSubCommands() }
