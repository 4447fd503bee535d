package topologytest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A .tree file holds a host tree as text. A line "PATHS: CONTENT" is a file
// of one line; "PATHS:" alone is followed by the lines of the file, each behind
// a tab. PATHS may have groups in braces, of which each choice makes a file:
// "sys/devices/system/cpu/cpu{0-3,8}/{a,b}". Lines that begin with # and
// empty ones are skipped.

// Unpack writes the files of a .tree below root.
func Unpack(packed []byte, root string) error {
	made := map[string]bool{}
	for _, e := range entries(string(packed)) {
		for _, path := range expand(e.paths) {
			if !filepath.IsLocal(path) {
				return fmt.Errorf("%q leads out of the tree", path)
			}
			full := filepath.Join(root, path)
			if dir := filepath.Dir(full); !made[dir] {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
				made[dir] = true
			}
			if err := os.WriteFile(full, []byte(e.content), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

type entry struct{ paths, content string }

func entries(packed string) []entry {
	var out []entry
	for line := range strings.Lines(packed) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case text == "" || text[0] == '#':
		case text[0] == '\t':
			out[len(out)-1].content += text[1:] + "\n"
		default:
			paths, content, oneLine := strings.Cut(text, ": ")
			if !oneLine {
				paths = strings.TrimSuffix(paths, ":")
			} else {
				content += "\n"
			}
			out = append(out, entry{paths, content})
		}
	}
	return out
}

// expand returns the paths that a pattern with groups in braces stands for.
func expand(pattern string) []string {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	group, after, _ := strings.Cut(rest, "}")
	var out []string
	for _, tail := range expand(after) {
		for choice := range strings.SplitSeq(group, ",") {
			for _, c := range numbers(choice) {
				out = append(out, before+c+tail)
			}
		}
	}
	return out
}

// numbers turns "2-4" into 2, 3 and 4, and leaves everything else as it is.
func numbers(choice string) []string {
	lo, hi, ok := strings.Cut(choice, "-")
	first, err1 := strconv.Atoi(lo)
	last, err2 := strconv.Atoi(hi)
	if !ok || err1 != nil || err2 != nil {
		return []string{choice}
	}
	var out []string
	for n := first; n <= last; n++ {
		out = append(out, strconv.Itoa(n))
	}
	return out
}
