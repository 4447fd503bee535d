// Command changed prints which packages of the module a change can concern: those whose
// files differ from a commit's, and those whose program or tests import one of them.
// make full runs its slow stages for these only.
//
//	go run ./internal/dev/changed -since 8e588140 ./internal/tui/... ./internal/change
//
// Without -since it prints all that the patterns name. A word on standard error says why
// when that is so although a commit was given.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"piton/internal/dev/since"
)

func main() {
	commit := flag.String("since", "", "print only what differs from this `COMMIT`")
	flag.Parse()
	if err := run(*commit, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "changed:", err)
		os.Exit(1)
	}
}

func run(commit string, patterns []string) error {
	named, err := lines("go", append([]string{"list"}, patterns...)...)
	if err != nil {
		return err
	}
	all := func(why string) error {
		fmt.Fprintln(os.Stderr, "changed: every package:", why)
		fmt.Println(strings.Join(named, "\n"))
		return nil
	}
	if commit == "" {
		return all("no commit is given to compare with")
	}
	files, err := since.Paths(".", commit)
	if err != nil {
		return all(err.Error())
	}
	imports, err := importsOf()
	if err != nil {
		return err
	}
	concerned, everything := concernedBy(files, imports)
	if everything != "" {
		return all(everything + " has changed")
	}
	kept := slices.DeleteFunc(slices.Clone(named), func(pkg string) bool { return !concerned[pkg] })
	if len(kept) < len(named) {
		fmt.Fprintf(os.Stderr, "left out: %d of %d packages: nothing that they import has changed since %s\n", len(named)-len(kept), len(named), commit)
	}
	for _, pkg := range kept {
		fmt.Println(pkg)
	}
	return nil
}

// importsOf returns, for each package of the module, all that it and its tests import,
// directly or not.
func importsOf() (map[string][]string, error) {
	out, err := lines("go", "list", "-test", "-f", "{{.ImportPath}}\t{{range .Deps}}{{.}}\t{{end}}", "./...")
	imports := map[string][]string{}
	for _, line := range out {
		name, deps, _ := strings.Cut(line, "\t")
		name = strings.TrimSuffix(plain(name), ".test")
		for dep := range strings.SplitSeq(deps, "\t") {
			imports[name] = append(imports[name], plain(dep))
		}
	}
	return imports, err
}

// plain is the import path of a package that go list names with the test it was built for.
func plain(name string) string {
	name, _, _ = strings.Cut(name, " ")
	return name
}

// concernedBy returns the packages that files concern; or one of the files, if it concerns
// every package.
func concernedBy(files []string, imports map[string][]string) (concerned map[string]bool, everything string) {
	changed := map[string]bool{}
	for _, file := range files {
		switch pkg := owner(file, imports); {
		case pkg != "":
			changed[pkg] = true
		case !aside(file):
			return nil, file
		}
	}
	concerned = map[string]bool{}
	for pkg, deps := range imports {
		concerned[pkg] = changed[pkg] || slices.ContainsFunc(deps, func(dep string) bool { return changed[dep] })
	}
	return concerned, ""
}

// owner is the package in whose folder, or below it, a file is; "" if there is none.
func owner(file string, imports map[string][]string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, ok := imports["piton/"+dir]; ok {
			return "piton/" + dir
		}
	}
	return ""
}

// aside reports whether no test reads a file outside the packages: words, pictures, and
// what runs the tests.
func aside(file string) bool {
	first, _, _ := strings.Cut(file, "/")
	return path.Ext(first) == ".md" || strings.HasPrefix(file, "testdata/pictures/") ||
		slices.Contains([]string{".ci", ".github", ".gitignore", "findings", "LICENSE", "Makefile"}, first)
}

// lines runs a program and returns what it prints.
func lines(name string, args ...string) ([]string, error) {
	out, err := exec.Command(name, args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), err
}
