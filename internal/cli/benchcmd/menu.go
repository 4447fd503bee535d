package benchcmd

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/kernel"
	"piton/workloads"
	"piton/workloads/workload"
)

func errNoWorkload() error {
	return exit.Usagef("piton bench needs a workload: %s", strings.Join(workloadNames(), ", "))
}

// onTerminal reports whether there is someone to ask.
func onTerminal(a *app.App) bool { return app.IsTerminal(a.In) && app.IsTerminal(a.Out) }

// menu asks for a workload and runs it with its defaults.
func menu(a *app.App, cmd *cobra.Command) error {
	var h store.History
	if path, err := store.DefaultPath(a.Getenv, kernel.EUID()); err == nil {
		h, _ = store.New(path).Read() // its error is reported with the results
	}
	host, _ := os.Hostname()
	width, ok := app.TerminalWidth(a.Out)
	if !ok {
		width = pictureWidth
	}
	name, err := choose(a.In, textOf(a), h, host, width)
	if err != nil {
		return err
	}
	run, _, err := cmd.Find([]string{name})
	if err != nil {
		return err
	}
	run.SetContext(cmd.Context())
	return run.RunE(run, nil)
}

// choose lists the workloads in lines of width cells, with how long a study of each takes by
// stored results, and reads a number or a name.
func choose(in io.Reader, out io.Writer, h store.History, host string, width int) (string, error) {
	for i, w := range workloads.All {
		s, _ := bench.DefaultStudy(w, mayRealTime()).Fitted(h.On(host))
		length := "a trial run shows how long it takes"
		if f, ok := s.Forecast(h.On(host)); ok {
			length = strings.TrimPrefix(s.Length()+": ", ": ") + f.Sentence()
		}
		line := fmt.Sprintf("%3d  %-10s %-56s %s", i+1, w.Name, w.Help, length)
		if utf8.RuneCountInString(line) > width {
			line = fmt.Sprintf("%3d  %-10s %s\n%16s%s", i+1, w.Name, w.Help, "", length)
		}
		fmt.Fprintln(out, line)
	}
	fmt.Fprintf(out, "Workload, by number or name: ")
	line, err := bufio.NewReader(in).ReadString('\n')
	word := strings.TrimSpace(line)
	if word == "" {
		if err != nil {
			fmt.Fprintln(out)
		}
		return "", errNoWorkload()
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(workloads.All) {
		return workloads.All[n-1].Name, nil
	}
	if slices.Contains(workloadNames(), word) {
		return word, nil
	}
	_, err = workload.Find(workloads.All, word)
	return "", exit.With(exit.Usage, err)
}
