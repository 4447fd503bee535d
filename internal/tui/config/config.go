// Package config keeps what the setup screen changes in
// $XDG_CONFIG_HOME/piton/config.json. The file is the user's own, written as a whole and
// atomically, keeps entries that this version does not know, and is never written
// over somebody's edit: when it changed since it was read, that is said instead.
//
// Start at Open.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"piton/internal/tui"
	"piton/internal/userfile"
)

// File is the settings file.
type File struct {
	path string

	mu   sync.Mutex
	read []byte // content as last read or written; nil while there is no file
}

// entries are the known ones.
type entries struct {
	Columns []string `json:"columns,omitempty"`
	Sort    string   `json:"sort,omitempty"`
	Delay   string   `json:"delay,omitempty"`
	Panel   string   `json:"core_panel,omitempty"`
	Meters  []string `json:"meters,omitempty"`
}

// names are the known entries' names, which encoding/json reads in any case.
var names = []string{"columns", "sort", "delay", "core_panel", "meters"}

func equalFold(key string) func(string) bool {
	return func(name string) bool { return strings.EqualFold(key, name) }
}

// Path is where the settings are kept (XDG Base Directory Specification 0.8);
// "" when there is no home either.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "piton", "config.json")
}

// Open reads the file. A file that is not there is no error and gives the zero
// Saved; one that cannot be understood is an error, and will not be written over.
func Open(path string) (*File, tui.Saved, error) {
	f := &File{path: path}
	data, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, tui.Saved{}, nil
	case err != nil:
		return f, tui.Saved{}, fmt.Errorf("read settings: %w", err)
	}
	s, err := parse(data)
	if err != nil {
		return f, tui.Saved{}, fmt.Errorf("settings in %s: %w", path, err)
	}
	f.read = data
	return f, s, nil
}

func parse(data []byte) (tui.Saved, error) {
	var e entries
	if err := json.Unmarshal(data, &e); err != nil {
		return tui.Saved{}, err
	}
	s := tui.Saved{Sort: e.Sort, Panel: e.Panel, Meters: e.Meters}
	if len(e.Columns) > 0 {
		s.Columns = e.Columns
	}
	if e.Delay != "" {
		d, err := time.ParseDuration(e.Delay)
		if err != nil {
			return tui.Saved{}, fmt.Errorf("delay: %w", err)
		}
		s.Interval = d
	}
	return s, nil
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
	err = userfile.ReplaceState(f.path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	f.read = data
	return nil
}

// merge puts the settings among the entries that are there already.
func merge(old []byte, s tui.Saved) ([]byte, error) {
	all := map[string]any{}
	if len(old) > 0 {
		if err := json.Unmarshal(old, &all); err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
	}
	known, err := json.Marshal(entries{s.Columns, s.Sort, s.Interval.String(), s.Panel, s.Meters})
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(key string, _ any) bool { return slices.ContainsFunc(names, equalFold(key)) })
	if err := json.Unmarshal(known, &all); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(all, "", "  ")
	return append(data, '\n'), err
}

// limit is the most bytes that the file may have.
const limit = 1 << 20

func read(path string) ([]byte, error) {
	f, err := userfile.OpenState(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return userfile.ReadAll(f, path, limit)
}
