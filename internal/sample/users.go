package sample

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"piton/internal/procfs"
)

// users turns user ids into names by the root's /etc/passwd, which is read
// again when an unknown id turns up and the file changed. An id without a name
// there (one of a directory service, of another container) is its number.
type users struct {
	root    string
	names   map[uint32]string
	changed time.Time // of the file as read last
}

func (u *users) name(uid uint32) string {
	if name, ok := u.names[uid]; ok {
		return name
	}
	u.read()
	if _, ok := u.names[uid]; !ok {
		u.names[uid] = strconv.FormatUint(uint64(uid), 10)
	}
	return u.names[uid]
}

func (u *users) read() {
	path := filepath.Join(u.root, "etc", "passwd")
	info, err := os.Stat(path)
	if u.names != nil && (err != nil || info.ModTime().Equal(u.changed)) {
		return
	}
	u.names = map[uint32]string{}
	b, err := procfs.ReadFile(path)
	if err != nil {
		return
	}
	u.changed = info.ModTime()
	parsePasswd(b, u.names)
}

// parsePasswd adds the users of a passwd(5) file; of several names with one id
// the first counts, as for getpwuid(3).
func parsePasswd(b []byte, names map[uint32]string) {
	for line := range bytes.Lines(b) {
		fields := bytes.SplitN(line, []byte(":"), 4)
		if len(fields) < 4 || len(fields[0]) == 0 {
			continue
		}
		uid, err := strconv.ParseUint(string(fields[2]), 10, 32)
		if err != nil {
			continue
		}
		if _, ok := names[uint32(uid)]; !ok {
			names[uint32(uid)] = string(fields[0])
		}
	}
}
