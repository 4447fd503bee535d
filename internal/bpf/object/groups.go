package object

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"piton/internal/procfs"
)

// Groups are the control groups of a hierarchy by the numbers that programs see, which are the
// inodes of their folders. Those that are gone since are kept.
type Groups struct {
	Mount procfs.CgroupMount
	paths map[uint64]string
}

// FindGroups are those of the hierarchy of a controller.
func FindGroups(controller string) (*Groups, error) {
	mount, err := procfs.New("/").CgroupMount(controller)
	return &Groups{mount, map[uint64]string{}}, err
}

func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// Number is that of a group; path is from the root of the hierarchy.
func (g *Groups) Number(path string) (uint64, error) {
	info, err := os.Stat(g.Mount.File(path, ""))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no control group %s", path)
	}
	if err != nil {
		return 0, err
	}
	return inode(info), nil
}

// Path is the path of a group, from the root of the hierarchy; "" if it is gone.
func (g *Groups) Path(number uint64) string {
	if number == 0 {
		return ""
	}
	if _, known := g.paths[number]; !known {
		g.Scan()
		g.paths[number] += "" // so that one that is gone is not looked for again
	}
	return g.paths[number]
}

// Scan takes in the groups that there are now.
func (g *Groups) Scan() {
	_ = filepath.WalkDir(g.Mount.Point, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it is gone
		}
		if info, err := d.Info(); err == nil {
			below := strings.TrimPrefix(path, g.Mount.Point)
			g.paths[inode(info)] = filepath.Join("/", g.Mount.Root, below)
		}
		return nil
	})
}
