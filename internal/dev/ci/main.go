// Command ci runs what a change must pass, for make full: targets of the Makefile in two
// lanes, one beside the other on two CPUs. It prints each stage's output when the stage has
// ended and, at the end, the seconds of each and what was left out.
//
//	go run ./internal/dev/ci            all stages
//	go run ./internal/dev/ci lint race  these only
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"piton/internal/dev/since"
)

const (
	// first is the stage before the lanes: what it compiles, both of them use.
	first = "build"
	// longest is the stage that decides when all is done: each machine of it has one CPU of
	// this one, which it gets before other stages.
	longest = "guests"
	// lanes is how many stages run at once.
	lanes = 2
)

// stages are those after the first, each a target of the Makefile: a lane that is free takes
// the first that can begin. None writes a file that git knows, since the other lane reads
// them: what is generated is made elsewhere, or in memory, and compared by tests.
var stages = []string{"quick", longest, "ordinary", "long", "lab", "race", "lint", "fuzz"}

// after are the stages that begin when another has ended, whose compiled tests they use.
var after = map[string]string{"ordinary": "quick", "long": "quick", "lab": "quick"}

// leftOut begins a line of a stage's output that says what it did not run, and why.
const leftOut = "left out: "

// result is how a stage ended.
type result struct {
	stage   string
	took    time.Duration
	err     error
	leftOut []string
	failed  []string // what its output says near each failure
}

func main() {
	wanted := func(stage string) bool { return len(os.Args) == 1 || slices.Contains(os.Args[1:], stage) }
	variables := []string{"GUESTS=changed"}
	if commit, err := since.LastFull("."); err == nil {
		variables = append(variables, "SINCE="+commit)
		fmt.Println("compared with", commit, "of .ci/full")
	} else {
		fmt.Println("every stage runs whole:", err)
	}
	start := time.Now()
	results := runLanes(wanted, func(stage string) result { return runStage(stage, variables) })
	if !summarize(os.Stdout, results, time.Since(start)) {
		os.Exit(1)
	}
}

// runLanes runs the stages that are wanted, and returns how they ended. Nothing is run
// after a first stage that failed.
func runLanes(wanted func(string) bool, run func(string) result) []result {
	var results []result
	if wanted(first) {
		r := run(first)
		if results = append(results, r); r.err != nil {
			return results
		}
	}
	q := newQueue(slices.DeleteFunc(slices.Clone(stages), func(stage string) bool { return !wanted(stage) }))
	var group sync.WaitGroup
	for range lanes {
		group.Go(func() {
			for stage := q.next(); stage != ""; stage = q.next() {
				q.ended(run(stage))
			}
		})
	}
	group.Wait()
	return append(results, q.results...)
}

// queue is the stages that have not begun, and the results of those that have ended.
type queue struct {
	sync.Mutex
	changed *sync.Cond
	waiting []string
	running map[string]bool
	results []result
}

func newQueue(stages []string) *queue {
	q := &queue{waiting: stages, running: map[string]bool{}}
	q.changed = sync.NewCond(q)
	return q
}

// next waits for a stage that can begin, and takes it; "" if none is left.
func (q *queue) next() string {
	q.Lock()
	defer q.Unlock()
	for len(q.waiting) > 0 {
		i := slices.IndexFunc(q.waiting, func(stage string) bool {
			return !q.running[after[stage]] && !slices.Contains(q.waiting, after[stage])
		})
		if i >= 0 {
			stage := q.waiting[i]
			q.waiting = slices.Delete(q.waiting, i, i+1)
			q.running[stage] = true
			return stage
		}
		q.changed.Wait()
	}
	return ""
}

// ended keeps the result of a stage.
func (q *queue) ended(r result) {
	q.Lock()
	defer q.Unlock()
	delete(q.running, r.stage)
	q.results = append(q.results, r)
	q.changed.Broadcast()
}

// printing keeps the outputs of two stages apart.
var printing sync.Mutex

// runStage runs a stage and prints what it says.
func runStage(stage string, variables []string) result {
	var out bytes.Buffer
	command := append([]string{"make", "--no-print-directory", stage}, variables...)
	if stage == longest {
		command = append([]string{"nice", "-n", "-5"}, command...) // who may not runs it all the same
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	r := result{stage: stage, took: time.Since(start), err: err}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, leftOut) {
			r.leftOut = append(r.leftOut, strings.TrimSpace(strings.TrimPrefix(line, leftOut)))
		}
	}
	if err != nil {
		r.failed = failures(out.String())
	}
	printing.Lock()
	defer printing.Unlock()
	fmt.Printf("\n=== %s: %s\n%s", stage, r.words(), out.Bytes())
	return r
}

// failures are the lines of an output around those that say that a test failed: what it said
// comes before that line with -v, and after it without.
func failures(out string) (near []string) {
	const around, most = 12, 60
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := 0
	for i, line := range lines {
		if strings.Contains(line, "--- FAIL") {
			from, end := max(last, i-around), min(len(lines), i+1+around)
			near = append(near, lines[from:max(from, end)]...)
			last = end
		}
	}
	if near == nil {
		near = lines
	}
	return near[max(0, len(near)-most):]
}

// words is how a stage ended, in words.
func (r result) words() string {
	if r.err != nil {
		return fmt.Sprintf("failed (%v) after %.0f s", r.err, r.took.Seconds())
	}
	return fmt.Sprintf("passed in %.0f s", r.took.Seconds())
}

// summarize prints the results, and reports whether all stages passed. The last line is
// one that counts them.
func summarize(w io.Writer, results []result, took time.Duration) bool {
	fmt.Fprintf(w, "\n=== %.0f s in all\n", took.Seconds())
	failed := 0
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range results {
		if r.err != nil {
			failed++
		}
		fmt.Fprintf(table, "%s\t%s\n", r.stage, r.words())
	}
	table.Flush()
	for _, r := range results {
		for _, what := range r.leftOut {
			fmt.Fprintf(w, "%s%s: %s\n", leftOut, r.stage, what)
		}
	}
	for _, r := range results {
		for _, line := range r.failed {
			fmt.Fprintf(w, "%s: %s\n", r.stage, line)
		}
	}
	fmt.Fprintf(w, "stages: %d passed, %d failed\n", len(results)-failed, failed)
	return failed == 0
}
