// Package since finds which files differ from the last run of everything that a change must
// pass, make full, whose commit .ci/full begins with.
package since

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// oldest is how many commits ago that run may be; after more, too much has changed to leave
// anything out.
const oldest = 100

// file names the commit, from the repository's root.
const file = ".ci/full"

// LastFull is the commit of the last run in which nothing was left out, of the repository at
// root.
func LastFull(root string) (commit string, err error) {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	if commit = regexp.MustCompile(`^[0-9a-f]{7,40}\b`).FindString(string(text)); commit == "" {
		return "", fmt.Errorf("%s does not begin with a commit", file)
	}
	return commit, nil
}

// Paths are the files, from the repository's root, that differ from a commit's: changed, gone,
// or new and not ignored. The error says that the commit is not here, or too old.
func Paths(root, commit string) ([]string, error) { return paths(root, commit, oldest) }

func paths(root, commit string, oldest int) ([]string, error) {
	git := func(args ...string) ([]string, error) {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
	}
	behind, err := git("rev-list", "--count", commit+"..HEAD")
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(behind[0]); err != nil || n >= oldest {
		return nil, fmt.Errorf("%s is %s commits old", commit, behind[0])
	}
	differ, err := git("diff", "--name-only", "--no-renames", commit)
	if err != nil {
		return nil, err
	}
	added, err := git("ls-files", "--others", "--exclude-standard", "--full-name", ":/")
	return append(differ, added...), err
}
