// Package config reads $XDG_CONFIG_HOME/piton/config.toml: theme, keys, and what the
// setup screen changes, which it writes back. The file is the user's own: it is written
// atomically, only the values that changed are replaced, comments and all else stay, and
// it is never written over somebody's edit: when it changed since it was read, that is
// said instead.
//
// Start at Open; parse.go reads the file and merge.go writes values into it.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"piton/internal/tui"
	"piton/internal/userfile"
)

// File is the settings file.
type File struct {
	path string

	mu   sync.Mutex
	read []byte // content as last read or written; nil while there is no file
}

// Open reads the file. A file that is not there is no error and gives the zero
// Saved; one that is no TOML is an error, and will not be written over. notes say, a line
// each, which entries are not used and why.
func Open(path string) (f *File, s tui.Saved, notes []string, err error) {
	f = &File{path: path}
	data, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, tui.Saved{}, nil, nil
	case err != nil:
		return f, tui.Saved{}, nil, fmt.Errorf("read settings: %w", err)
	}
	s, notes, err = parse(data)
	if err != nil {
		return f, tui.Saved{}, nil, fmt.Errorf("settings in %s: %w", path, err)
	}
	for i := range notes {
		notes[i] = path + ": " + notes[i]
	}
	f.read = data
	return f, s, notes, nil
}

// Save writes the settings, unless the file is no longer what was read.
func (f *File) Save(s tui.Saved) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := read(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read settings: %w", err)
	}
	if !bytes.Equal(now, f.read) {
		return fmt.Errorf("%s was changed by somebody else since piton read it", f.path)
	}
	data, err := merge(now, s)
	if err != nil {
		return err
	}
	err = userfile.ReplaceState(f.path, userfile.Synced, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	f.read = data
	return nil
}

// limit is the most bytes that the file may have.
const limit = 64 << 10

func read(path string) ([]byte, error) {
	f, err := userfile.OpenState(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return userfile.ReadAll(f, path, limit)
}
