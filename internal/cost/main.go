// Command cost measures what full-screen monitors cost, one after the other on a
// terminal of the same size, over the same load, and prints medians over the rounds:
// the CPU time they and their children take, the bytes they write and the memory they
// keep; with -keys the time from a key to the first byte of its answer.
//
//	go run ./internal/cost -procs 5000 -- 'htop -d 10' 'top -d 1' './piton -d 1s'
//	go run ./internal/cost -procs 3000 -busy 2 -keys 1000 -size 120x40 -- './piton -d 1s'
//
// The README's figures were measured with it: make cost.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/creack/pty"
)

// setting is what the flags say.
type setting struct {
	procs, threads, busy, rounds, keys int
	settle, over                       time.Duration
	size                               pty.Winsize
	programs, missing                  []string // command lines; names of those that are not installed
}

// parse reads the flags.
func parse(args []string) (setting, error) {
	var s setting
	var size string
	f := flag.NewFlagSet("cost", flag.ContinueOnError)
	f.IntVar(&s.procs, "procs", 0, "start so many idle processes")
	f.IntVar(&s.threads, "threads", 0, "start one process with so many idle threads")
	f.IntVar(&s.busy, "busy", 0, "start so many processes that spin")
	f.IntVar(&s.rounds, "rounds", 3, "measure each program so many times")
	f.IntVar(&s.keys, "keys", 0, "press so many keys and measure the time to the answer")
	f.DurationVar(&s.settle, "settle", 5*time.Second, "wait so long before a measurement")
	f.DurationVar(&s.over, "for", 15*time.Second, "measure so long")
	f.StringVar(&size, "size", "200x50", "columns and rows of the terminal")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if _, err := fmt.Sscanf(size, "%dx%d", &s.size.Cols, &s.size.Rows); err != nil {
		return s, fmt.Errorf("size %q is not COLUMNSxROWS, as in 200x50", size)
	}
	if f.NArg() == 0 {
		return s, errors.New("missing programs: cost [flags] -- 'htop -d 10' './piton -d 1s'")
	}
	for _, program := range f.Args() {
		if name, _, _ := strings.Cut(strings.TrimSpace(program), " "); !installed(name) {
			s.missing = append(s.missing, name)
			continue
		}
		s.programs = append(s.programs, program)
	}
	if len(s.programs) == 0 {
		return s, fmt.Errorf("not installed: %s", strings.Join(s.missing, ", "))
	}
	return s, nil
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil || errors.Is(err, exec.ErrDot)
}

func main() {
	if idling() {
		return
	}
	s, err := parse(os.Args[1:])
	if err == nil {
		err = run(s)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(s setting) error {
	stop, err := load(s)
	defer stop()
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	fmt.Printf("# %d processes, %d threads, %d spinning, %dx%d, %d rounds\n", s.procs, s.threads, s.busy, s.size.Cols, s.size.Rows, s.rounds)
	for _, name := range s.missing {
		fmt.Println("# left out, as it is not installed:", name)
	}
	rows := make([][][]float64, len(s.programs))
	for range s.rounds {
		for i, program := range s.programs {
			figures, err := measure(program, s, interrupted)
			if err != nil {
				return fmt.Errorf("%s: %w", program, err)
			}
			rows[i] = append(rows[i], figures)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 9, 0, 2, ' ', tabwriter.AlignRight)
	headings := []string{"cpu ms/s", "bytes/s", "RSS MB"}
	if s.keys > 0 {
		headings = []string{"median ms", "p95 ms", "max ms", ">100 ms"}
	}
	fmt.Fprintln(w, strings.Join(headings, "\t")+"\t  program")
	for i, program := range s.programs {
		for column := range headings {
			fmt.Fprintf(w, "%.4g\t", median(rows[i], column))
		}
		fmt.Fprintln(w, "  "+program)
	}
	return w.Flush()
}

// median is that of one figure over the rounds.
func median(rounds [][]float64, column int) float64 {
	sorted := slices.SortedFunc(slices.Values(rounds), func(a, b []float64) int { return cmp.Compare(a[column], b[column]) })
	return sorted[len(sorted)/2][column]
}
