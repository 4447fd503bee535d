package userfile

import (
	"os"
	"path/filepath"
	"strconv"
)

// Run is where the system keeps what lives no longer than the boot. Tests name a
// directory that is not there, so that each has its own below its state directory.
var Run = "/run"

// RuntimeDir is piton's directory for what lives no longer than the boot, and where
// nobody else can write: /run/piton for root, /run/user/UID/piton for others who
// have one (file-hierarchy(7)), else one below their state directory, also for the root
// of a user namespace, whose /run is another's. OpenState makes it.
func RuntimeDir(euid int, state string) string {
	dir := Run
	if euid != 0 {
		dir = filepath.Join(Run, "user", strconv.Itoa(euid))
	}
	if info, err := os.Stat(dir); err != nil || owner(info) != euid {
		return filepath.Join(state, "run")
	}
	return filepath.Join(dir, "piton")
}
