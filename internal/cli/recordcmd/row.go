package recordcmd

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"piton/internal/record"
	"piton/internal/userfile"
)

// stamp is the end of a file's name in a row.
const stamp = "20060102-150405"

var stamped = regexp.MustCompile(`^\.\d{8}-\d{6}$`)

// rowOf are the files of a row, the oldest first.
func rowOf(path string) (all []string, err error) {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), base); ok && stamped.MatchString(rest) && e.Type().IsRegular() {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(all)
	return all, err
}

// next begins a file. In a row, what is no longer kept goes first.
func (f *files) next(now time.Time) error {
	name := f.path
	if f.keep > 0 || f.most > 0 {
		if err := f.forget(now); err != nil {
			return err
		}
		name += now.UTC().Format("." + stamp)
	}
	file, err := userfile.Create(name)
	if errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "record to", Path: name, Err: errors.New("it is there already; name a new file")}
	}
	if err != nil {
		return err
	}
	f.file, f.name, f.began, f.size = file, name, now, 0
	f.writer, err = record.NewWriter(f, f.options)
	return err
}

// forget deletes the oldest files: those that end before what is kept begins, and as many as
// leave room for another one.
func (f *files) forget(now time.Time) error {
	all, err := rowOf(f.path)
	if err != nil {
		return err
	}
	left := f.most - f.most/pieces
	keep := len(all) // how many from the end
	for i, name := range slices.Backward(all) {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if left -= info.Size(); f.most > 0 && left < 0 || f.keep > 0 && now.Sub(info.ModTime()) > f.keep {
			keep = len(all) - 1 - i
			break
		}
	}
	for _, name := range all[:len(all)-keep] {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
