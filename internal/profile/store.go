package profile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"piton/internal/userfile"
)

// ErrEdited is Save's error for a file that piton did not write, or that
// somebody has edited since.
var ErrEdited = errors.New("it was not written by piton, or has been edited since")

const sumPrefix = "# saved by piton; sum of what follows: "

// stamped puts a sum before the text, by which piton knows its own work again.
func stamped(text []byte) []byte {
	sum := sha256.Sum256(text)
	return append([]byte(sumPrefix+hex.EncodeToString(sum[:8])+"\n"), text...)
}

// untouched reports whether a file is as piton left it.
func untouched(data []byte) bool {
	line, text, ok := bytes.Cut(data, []byte("\n"))
	if !ok || !bytes.HasPrefix(line, []byte(sumPrefix)) {
		return false
	}
	return bytes.Equal(stamped(text), data)
}

// Save writes the profile to a file at once or not at all: a reader sees the old
// text or the new one. A file that somebody has edited is left alone, with
// ErrEdited, unless forced.
func Save(path string, p *Profile, force bool) error {
	return save(path, stamped(Encode(p)), force)
}

// Save writes the drop-in to its file below a folder of systemd's, as Save of a profile
// does, and returns its path.
func (d DropIn) Save(dir string, force bool) (path string, err error) {
	path = filepath.Join(dir, d.Unit+".d", "50-piton.conf")
	if err := userfile.MakeDir(filepath.Dir(path)); err != nil {
		return path, err
	}
	return path, save(path, d.Text, force)
}

func save(path string, data []byte, force bool) error {
	mode := fs.FileMode(0o644)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode().IsRegular(): // a device or a FIFO has nothing to keep
		mode = info.Mode().Perm()
		old, err := userfile.Read(path, MaxSize)
		switch {
		case err != nil:
			return err
		case bytes.Equal(old, data):
			return nil
		case !force && len(old) > 0 && !untouched(old) && !bytes.Equal(stamped(old), data): // the same, without the sum
			return fmt.Errorf("%s: %w", path, ErrEdited)
		}
	}
	return userfile.Replace(path, data, mode)
}
