package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const manLong = `Write the manual page of piton and all its commands, in man(7) notation, to standard output. It is made from
the same texts as --help.`

// newMan is "piton man".
func newMan(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "write the manual page",
		Long:  manLong,
		Example: `  piton man | man -l -
  piton man > /usr/local/share/man/man1/piton.1`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(a, manPage(cmd.Root()))
			return err
		},
	}
}

const manFiles = `$XDG_STATE_HOME/piton/journal
  the changes that were made, with what was there before; without the variable below /var/lib for root, and below ~/.local/state for others. Root does not follow the variable to where others may write

$XDG_STATE_HOME/piton/results.jsonl
  the results of benchmarks

$XDG_CONFIG_HOME/piton
  config.json, how the screen was left, and profiles; without the variable below ~/.config`

const manEnvironment = `PITON_HOST_ROOT
  stands for --host-root

PITON_READONLY
  1 or true stands for --readonly

NO_COLOR
  stands for --no-color`

// manPage is the page of the root command and of all below it.
func manPage(root *cobra.Command) string {
	var p page
	p.line(`.TH PITON 1 "" "piton %s" "User Commands"`, escapeRoff(root.Version))
	p.section("NAME")
	p.text(root.Name() + ` - ` + root.Short)
	p.section("SYNOPSIS")
	p.text(root.UseLine() + "\n\n" + root.Name() + " COMMAND [flags]")
	p.section("DESCRIPTION")
	description, codes, _ := strings.Cut(root.Long, "Exit codes:\n")
	p.text(description)
	p.section("OPTIONS")
	p.flags(root.LocalFlags())
	p.section("COMMANDS")
	var topics []*cobra.Command
	for _, sub := range root.Commands() {
		if sub.Runnable() || sub.HasSubCommands() {
			p.command(sub)
		} else {
			topics = append(topics, sub)
		}
	}
	for _, topic := range topics {
		p.section(strings.ToUpper(topic.Name()))
		p.text(topic.Long)
	}
	p.section("EXIT STATUS")
	p.text(codes)
	p.section("FILES")
	p.text(manFiles)
	p.section("ENVIRONMENT")
	p.text(manEnvironment)
	p.section("EXAMPLES")
	p.text(root.Example)
	p.section("SEE ALSO")
	p.text("sched(7), cpuset(7), taskset(1), chrt(1), renice(1), ionice(1), perf(1)")
	return p.String()
}

// page builds a page in man(7) notation.
type page struct{ strings.Builder }

// line writes a line of notation.
func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) section(title string) { p.line(".SH %s", title) }

// text writes paragraphs: indented lines stand as they are, the others are
// filled to the width of the reader's terminal.
func (p *page) text(text string) {
	const filled, asItIs, none = 1, 2, 0
	state := none
	for l := range strings.Lines(strings.TrimRight(text, "\n")) {
		l = strings.TrimRight(l, "\n")
		now := filled
		if l == "" {
			now = none
		} else if l[0] == ' ' || l[0] == '\t' {
			now = asItIs
		}
		if state == asItIs && now != asItIs {
			p.line(".EE\n.RE")
		}
		if now == asItIs && state != asItIs {
			p.line(".RS 2\n.EX")
		}
		if now == filled && state != filled || now == none && state != none {
			p.line(".PP")
		}
		if now != none {
			p.line("%s", escapeRoff(strings.TrimPrefix(l, "  ")))
		}
		state = now
	}
	if state == asItIs {
		p.line(".EE\n.RE")
	}
}

// command writes a command and, behind it, those below it.
func (p *page) command(c *cobra.Command) {
	if c.Hidden {
		return
	}
	p.line(".SS %s", escapeRoff(strings.TrimSuffix(c.UseLine(), " [flags]")))
	if c.Long != "" {
		p.text(c.Long)
	} else {
		p.text(c.Short)
	}
	p.flags(c.LocalNonPersistentFlags())
	p.flags(c.PersistentFlags())
	if c.Example != "" {
		p.line(".PP\nExamples:")
		p.text(c.Example)
	}
	for _, sub := range c.Commands() {
		p.command(sub)
	}
}

// flags writes a paragraph a flag; every command has --help.
func (p *page) flags(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		switch f.DefValue {
		case "", "0", "0s", "false", "[]": // what is not given
		default:
			if !strings.Contains(usage, "(default") {
				usage += " (default " + f.DefValue + ")"
			}
		}
		p.line(".TP\n\\fB%s\\fR %s\n%s", escapeRoff(name), escapeRoff(value), escapeRoff(usage))
	})
}

// escapeRoff makes a line mean itself: a backslash, a hyphen that is to be a
// minus (man(7)), and what would be a request at the line's start.
func escapeRoff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `^`, `\(ha`, `~`, `\(ti`, "`", `\(ga`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
