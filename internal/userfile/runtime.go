package userfile

import (
	"os"
	"path/filepath"
	"strconv"
)

// RuntimeDir is piton's directory for what lives no longer than the boot, and where
// nobody else can write: /run/piton for root, /run/user/UID/piton for others who
// have one (file-hierarchy(7)), else one below their state directory. OpenState
// makes it.
func RuntimeDir(euid int, state string) string {
	if euid == 0 {
		return "/run/piton"
	}
	dir := filepath.Join("/run/user", strconv.Itoa(euid))
	if _, err := os.Stat(dir); err == nil {
		return filepath.Join(dir, "piton")
	}
	return filepath.Join(state, "run")
}
