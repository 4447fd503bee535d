// Command flaky runs the tests of packages many times beside load, and lists those that
// failed, how often, and where the output of the first failure is.
//
//	go run ./internal/dev/flaky -times 30 -run TestGuard ./internal/change/guard
//
// Each package is built once. The rounds go over all packages, so that a test meets
// different neighbours in time. The load is two threads of flaky itself at nice 0, so
// that it ends with it.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// spinners is how many threads compete with the tests: as many as the CPUs of the
// smallest machine that runs them all.
const spinners = 2

// setting is what the flags say.
type setting struct {
	times    int
	run      string
	long     bool
	dir      string // of the outputs
	packages []string
}

func main() {
	var s setting
	flag.IntVar(&s.times, "times", 30, "run each package so often")
	flag.StringVar(&s.run, "run", "", "only tests that match, as in go test -run")
	flag.BoolVar(&s.long, "long", false, "without -short")
	flag.StringVar(&s.dir, "dir", filepath.Join("bin", "flaky"), "directory of test programs and of the first failures' outputs")
	flag.Parse()
	s.packages = flag.Args()
	failures, err := s.repeat()
	if err != nil {
		fmt.Fprintln(os.Stderr, "flaky:", err)
		os.Exit(2)
	}
	if len(failures) > 0 {
		os.Exit(1)
	}
}

// program is a built test.
type program struct{ pkg, source, file string }

// failure is a test that failed at least once.
type failure struct {
	test, output string
	count        int
}

// repeat builds the packages, runs them and reports.
func (s *setting) repeat() ([]*failure, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	s.dir = dir
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	programs, err := s.build()
	if err != nil {
		return nil, err
	}
	spin()
	runtime.LockOSThread() // Pdeathsig is about the thread that starts a process
	var failures []*failure
	for n := range s.times {
		for _, p := range programs {
			output, err := s.once(p)
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				return nil, err
			} else if err != nil {
				fmt.Printf("round %d of %d: %s failed\n", n+1, s.times, p.pkg)
				failures = s.add(failures, p, output)
			}
		}
	}
	s.report(failures)
	return failures, nil
}

// build compiles the tests of the packages that have some.
func (s *setting) build() ([]program, error) {
	list := append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"}, s.packages...)
	out, err := command("go", list...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var programs []program
	for line := range strings.Lines(string(out)) {
		pkg, source, _ := strings.Cut(strings.TrimSpace(line), " ")
		p := program{pkg, source, filepath.Join(s.dir, fileName(pkg)+".test")}
		if err := command("go", "test", "-c", "-o", p.file, pkg).Run(); err != nil {
			return nil, fmt.Errorf("building the tests of %s: %w", pkg, err)
		}
		programs = append(programs, p)
	}
	if len(programs) == 0 {
		return nil, errors.New("no tests: name packages, such as ./internal/watch")
	}
	return programs, nil
}

// command prepares a program whose errors are seen.
func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// once runs the tests of a package as make test does.
func (s *setting) once(p program) (output []byte, err error) {
	cmd := exec.Command(p.file, "-test.run="+s.run, "-test.parallel=8", "-test.timeout=30m", fmt.Sprint("-test.short=", !s.long))
	cmd.Dir = p.source
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.CombinedOutput()
}

// add counts the tests that failed in an output, and keeps it for those that had not
// failed before.
func (s *setting) add(all []*failure, p program, output []byte) []*failure {
	for _, test := range failed(string(output)) {
		test = p.pkg + " " + test
		i := slices.IndexFunc(all, func(f *failure) bool { return f.test == test })
		if i < 0 {
			i = len(all)
			f := &failure{test: test, output: filepath.Join(s.dir, fileName(test)+".txt")}
			if err := os.WriteFile(f.output, output, 0o644); err != nil {
				f.output = err.Error()
			}
			all = append(all, f)
		}
		all[i].count++
	}
	return all
}

// fileName is a word without slashes and spaces.
func fileName(word string) string { return strings.NewReplacer("/", "-", " ", "-").Replace(word) }

// report lists what failed, the most frequent first.
func (s *setting) report(failures []*failure) {
	slices.SortStableFunc(failures, func(a, b *failure) int { return cmp.Compare(b.count, a.count) })
	for _, f := range failures {
		fmt.Printf("%3d of %d  %s\n           %s\n", f.count, s.times, f.test, f.output)
	}
	if len(failures) == 0 {
		fmt.Printf("%d times: all passed\n", s.times)
	}
}

// failed returns the names of the tests that an output says have failed, or were
// running when the time was over.
func failed(output string) []string {
	const unnamed = "(no test named)"
	var names []string
	running := false // in the list of a test program whose time was over
	for line := range strings.Lines(output) {
		name, ok := strings.CutPrefix(line, "--- FAIL: ")
		if running && !ok {
			name, ok = strings.CutPrefix(line, "\t\t")
			running = ok
		}
		running = running || line == "\trunning tests:\n"
		if name, _, _ = strings.Cut(name, " "); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []string{unnamed}
	}
	return names
}

// spin starts threads that always want a CPU.
func spin() {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spinners)
	for range spinners {
		go func() {
			for n := 0; ; n++ {
				_ = n
			}
		}()
	}
}
