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

// ParseIO parses an io file (proc_pid_io(5)): the bytes that were read from and
// written to storage. What stays in the page cache is in neither.
func ParseIO(b []byte) (read, written uint64, ok bool) {
	found := 0
	for line := range bytes.Lines(b) {
		key, value, _ := bytes.Cut(line, []byte(": "))
		s := scan(value)
		switch string(key) {
		case "read_bytes":
			read = s.uint()
		case "write_bytes":
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
