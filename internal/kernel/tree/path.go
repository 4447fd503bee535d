package tree

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Stat is os.Stat, inside the path's tree.
func Stat(path string) (fs.FileInfo, error) {
	if t := Of(unix.AT_FDCWD, []byte(path)); t != nil {
		return t.Stat([]byte(path))
	}
	return os.Stat(path)
}

// Names are those in a directory, sorted, inside the path's tree.
func Names(path string) ([]string, error) {
	t := Of(unix.AT_FDCWD, []byte(path))
	if t == nil {
		entries, err := os.ReadDir(path)
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.Name()
		}
		return names, err
	}
	fd, err := t.Open([]byte(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Glob is filepath.Glob of a pattern below root, which is no pattern, inside its tree.
func Glob(root, pattern string) []string {
	if Of(unix.AT_FDCWD, []byte(root)) == nil {
		paths, _ := filepath.Glob(filepath.Join(root, pattern)) // the only error is that of a bad pattern
		return paths
	}
	found := []string{root}
	for part := range strings.SplitSeq(filepath.Clean(pattern), "/") {
		var next []string
		for _, dir := range found {
			names := []string{part}
			if strings.ContainsAny(part, `*?[\`) {
				names, _ = Names(dir) // none of what is no directory
			}
			for _, name := range names {
				path := filepath.Join(dir, name)
				if fits, _ := filepath.Match(part, name); fits {
					if _, err := Stat(path); err == nil {
						next = append(next, path)
					}
				}
			}
		}
		found = next
	}
	return found
}

// EvalSymlinks is filepath.EvalSymlinks, inside the path's tree.
func EvalSymlinks(path string) (string, error) {
	t := Of(unix.AT_FDCWD, []byte(path))
	if t == nil {
		return filepath.EvalSymlinks(path)
	}
	place, err := t.place([]byte(path), 0)
	if err != nil {
		return "", err
	}
	defer place.Close()
	real, err := pathOf(int(place.Fd()))
	top, topErr := pathOf(t.top)
	below, ok := strings.CutPrefix(real, strings.TrimSuffix(top, "/"))
	if err = cmp.Or(err, topErr); err == nil && !ok {
		err = &fs.PathError{Op: "open", Path: path, Err: unix.ENOENT} // it was moved meanwhile
	}
	return filepath.Join(t.root, below), err
}

// pathOf is the path of an open place.
func pathOf(fd int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) }
