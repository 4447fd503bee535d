package guard

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// answerTime bounds the wait for a guard's answer. It runs before everything
// else; who asks may not.
const answerTime = 10 * time.Second

// Armed is a guard that was found.
type Armed struct {
	Status
	path string
}

// List returns the guards that are armed, the next to act first. What guards that
// were killed have left is cleared away. A directory that is not there holds none.
func List(dir string) ([]Armed, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for guards: %w", err)
	}
	var out []Armed
	var failed error
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), socketSuffix) {
			continue
		}
		a, err := visitStatus(filepath.Join(dir, f.Name()))
		switch {
		case err == nil && a.Entry == 0: // nothing has been changed yet
		case err == nil:
			out = append(out, a)
		case !errors.Is(err, errGone):
			failed = errors.Join(failed, err)
		}
	}
	slices.SortFunc(out, func(a, b Armed) int { return cmp.Compare(a.Left, b.Left) })
	return out, failed
}

func visitStatus(path string) (Armed, error) {
	var a answer
	if err := knock(path, message{Do: doStatus}, &a); err != nil {
		return Armed{}, err
	}
	if a.Status == nil {
		return Armed{}, fmt.Errorf("guard at %s: no status came", path)
	}
	return Armed{*a.Status, path}, nil
}

// Keep ends the guard, and what it guards stays. The error Is ErrTooLate when it
// is being taken back already.
func (a Armed) Keep() error {
	if err := knock(a.path, message{Do: doDismiss}, &answer{}); err != nil {
		if errors.Is(err, errGone) {
			return ErrTooLate
		}
		return err
	}
	return nil
}

// knock sends one message to a guard. Nobody behind the socket is an error that
// Is errGone, and the socket is removed.
func knock(path string, m message, a *answer) error {
	conn, err := inDir(filepath.Dir(path), func(dir string) (net.Conn, error) {
		return net.DialTimeout("unix", filepath.Join(dir, filepath.Base(path)), answerTime)
	})
	if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(path)
		return errGone
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	return newTalk(conn).ask(m, a)
}
