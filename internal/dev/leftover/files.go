package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// usualPlaces are patterns of what piton keeps for the user who runs the tests, and of what
// tests make and remove.
func usualPlaces() []string {
	places := []string{
		"/run/piton*", fmt.Sprintf("/run/user/%d/piton*", os.Geteuid()), "/var/lib/piton*", "/var/tmp/piton*", "/etc/piton*",
		"/dev/shm/piton*", "/run/netns/piton*", "/sys/fs/cgroup/piton*", "/sys/fs/cgroup/*/piton*",
		filepath.Join(os.TempDir(), "piton*"), filepath.Join(os.TempDir(), "Test*"),
	}
	home, err := os.UserHomeDir()
	for variable, usual := range map[string]string{"XDG_STATE_HOME": ".local/state", "XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"} {
		if dir := os.Getenv(variable); dir != "" || err == nil {
			places = append(places, filepath.Join(cmp.Or(dir, filepath.Join(home, usual)), "piton*"))
		}
	}
	return places
}

// files are the user's files in places and below, each with what changes when it is
// written to. A lock is there for good, and every piton of the machine writes its name into it.
func files(places []string) map[string]string {
	found := map[string]string{}
	for _, place := range places {
		tops, _ := filepath.Glob(place)
		for _, top := range tops {
			_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
				if err != nil {
					return nil // it is gone, or another's
				}
				info, err := entry.Info()
				if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
					return nil
				}
				found[path] = ""
				if info.Mode().IsRegular() && entry.Name() != "lock" {
					found[path] = fmt.Sprint(info.Size(), info.ModTime())
				}
				return nil
			})
		}
	}
	return found
}

// differences are the files that are new or were written to.
func differences(before, after map[string]string) (paths []string) {
	for path, stamp := range after {
		if was, there := before[path]; !there || was != stamp {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// othersTest reports whether test programs of other runs do: then nobody can tell whose
// the files are. Those of the command have ended.
func othersTest() bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(all, func(path string) bool {
		line, err := os.ReadFile(path)
		program, _, _ := strings.Cut(string(line), "\x00")
		return err == nil && strings.HasSuffix(program, ".test")
	})
}
