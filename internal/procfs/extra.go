package procfs

import "bytes"

// ParseStatm parses a statm file (proc_pid_statm(5)): the pages of the whole
// address space, and those resident that files or other processes share.
func ParseStatm(b []byte) (virtual, shared uint64, ok bool) {
	s := scan(b)
	virtual = s.uint()
	s.skip(1) // resident
	shared = s.uint()
	return virtual, shared, s.ok
}

// The lines of an io file (proc_pid_io(5)) for ParseIO: bytes of read(2), write(2) and the
// like, and those that storage had to serve, without what stays in the page cache.
var (
	CallBytes = [2]string{"rchar", "wchar"}
	DiskBytes = [2]string{"read_bytes", "write_bytes"}
)

// ParseIO parses two lines of an io file: what was read and what was written.
func ParseIO(b []byte, lines [2]string) (read, written uint64, ok bool) {
	found := 0
	for line := range bytes.Lines(b) {
		key, value, _ := bytes.Cut(line, []byte(": "))
		s := scan(value)
		switch string(key) {
		case lines[0]:
			read = s.uint()
		case lines[1]:
			written = s.uint()
		default:
			continue
		}
		if !s.ok {
			return 0, 0, false
		}
		found++
	}
	return read, written, found == 2
}

// ParseOOMScore parses an oom_score file (proc_pid_oom_score(5)), 0 to 2000 since Linux 5.8.
func ParseOOMScore(b []byte) (score int, ok bool) {
	s := scan(b)
	score = int(s.between(0, 1<<31-1))
	return score, s.ok
}
