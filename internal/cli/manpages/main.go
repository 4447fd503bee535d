// Command manpages writes the manual pages of piton below a directory of the manual:
// man1/piton-COMMAND.1 for each command, man7/piton-TOPIC.7 for each topic of the help. It is a program of its own
// because cobra/doc would cost every start of piton half a millisecond: its parser of
// Markdown compiles regular expressions when it is loaded.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "piton/internal/lab"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"piton/internal/cli"
	"piton/internal/cli/exit"
	"piton/internal/userfile"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manpages DIR")
		os.Exit(exit.Usage)
	}
	if err := write(os.Args[1], cli.Root()); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(exit.Failed)
	}
}

// width is that of a topic in a manual of 80 columns with its margins.
const width = 68

// write writes the pages of a command and of those below it.
func write(dir string, cmd *cobra.Command) error {
	for _, sub := range cmd.Commands() {
		if sub.Hidden || sub.Name() == "help" {
			continue
		}
		if err := write(dir, sub); err != nil {
			return err
		}
	}
	header := &doc.GenManHeader{Section: "1", Source: "piton", Manual: "piton"}
	isTopic := slices.Contains(cli.Topics(), cmd.Name())
	if isTopic {
		text, err := cli.PageText(cmd.Name(), width)
		if err != nil {
			return err
		}
		_, text, _ = strings.Cut(text, "\n\n") // the heading is the manual's own
		cmd.Long = "```\n" + text + "```\n"    // md2man makes tables wider than the line
		header.Section, cmd.DisableFlagsInUseLine = "7", true
	} else {
		cmd.Long = markdown(cmd.Long)
		if !cmd.HasParent() {
			cmd.Long += topics(cmd)
		}
		escape := func(f *pflag.Flag) { f.Usage = special.Replace(f.Usage) }
		cmd.LocalNonPersistentFlags().VisitAll(escape)
		cmd.PersistentFlags().VisitAll(escape)
	}
	cmd.DisableAutoGenTag = true
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + "." + header.Section
	file := filepath.Join(dir, "man"+header.Section, name)
	if err := userfile.MakeDir(filepath.Dir(file)); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := doc.GenMan(cmd, header, &page); err != nil {
		return err
	}
	return userfile.Replace(file, page.Bytes(), 0o644)
}

// special are the signs that mean something in Markdown.
var special = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`)

// markdown is the help of a command as Markdown: indented lines stand as they are.
func markdown(help string) string {
	var out strings.Builder
	indented := false
	for l := range strings.Lines(help + "\n") {
		if now := strings.HasPrefix(l, "  "); now != indented {
			out.WriteString("\n```\n")
			indented = now
		}
		if !indented {
			l = special.Replace(l)
		}
		out.WriteString(l)
	}
	if indented {
		out.WriteString("```\n")
	}
	return out.String()
}

// topics is the section about the topics of the help.
func topics(root *cobra.Command) string {
	var out strings.Builder
	out.WriteString("\n# TOPICS\n")
	for _, name := range cli.Topics() {
		cmd, _, err := root.Find([]string{name})
		if err == nil {
			fmt.Fprintf(&out, "**piton-%s(7)** %s\n\n", name, special.Replace(cmd.Short))
		}
	}
	return out.String()
}
