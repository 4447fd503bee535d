package app

import (
	"os"
	"path/filepath"
	"slices"

	"piton/internal/cli/exit"
	"piton/internal/kernel"
	"piton/internal/userfile"
)

// stdin are the names of standard input; the first stands for "-".
var stdin = []string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

// InputFile is the path that a FILE of a command line means, standard input for "-".
func InputFile(word string) string {
	if word == "-" {
		return stdin[0]
	}
	return word
}

// ReadOnce reports whether what Steering reads from a path is gone then.
func ReadOnce(path string) bool { return slices.Contains(stdin, path) || userfile.OwnPipe(path) }

// Steering reads a file that says what to change, or standard input. With acts, one that others than root
// can change ends the run of root, else that is said.
func (a *App) Steering(path string, limit int64, acts bool) ([]byte, error) {
	if slices.Contains(stdin, path) {
		return userfile.ReadAll(a.In, "standard input", limit)
	}
	data, untrusted, err := userfile.Steering(path, limit)
	switch {
	case err != nil:
		return nil, err
	case untrusted == nil:
	case acts:
		return nil, exit.With(exit.NotPermitted, untrusted)
	default:
		a.Warn("%s is read only to be shown, and would not be applied: %v", path, untrusted)
	}
	return data, nil
}

// ConfigFile is a file or directory of the user's configuration by its name; "" where
// there is no home. Root does not use what others can change, which is said if it is there.
func (a *App) ConfigFile(name string) string {
	dir, untrusted := userfile.ConfigDir(a.Getenv, kernel.EUID())
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, name)
	if untrusted == nil {
		return path
	}
	if _, err := os.Lstat(path); err == nil {
		a.Warn("%s is not used: %v", path, untrusted)
	}
	return ""
}
