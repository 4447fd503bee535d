package profile

import (
	"fmt"
	"path"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/pattern"
)

// newSysctl reads a name and a value. A - before the name makes it optional, as
// in sysctl.d(5).
func newSysctl(name, value string) (Sysctl, error) {
	s := Sysctl{Value: SysctlWords(value)}
	s.Name, s.Optional = strings.CutPrefix(strings.TrimSpace(name), "-")
	if _, err := SysctlPath(s.Name); err != nil {
		return s, err
	}
	if s.Value == "" {
		return s, fmt.Errorf("%s has no value", s.Name)
	}
	return s, nil
}

// SysctlWords is a value with one blank between its words: the kernel parts
// them with tabs.
func SysctlWords(value string) string { return strings.Join(strings.Fields(value), " ") }

// swap exchanges dots and slashes, as sysctl(8) does between names and paths.
var swap = strings.NewReplacer(".", "/", "/", ".")

// SysctlPath is the path below /proc/sys of a setting that is written with dots,
// or as a path; a glob is one there too.
func SysctlPath(name string) (string, error) {
	file := name
	if dot, slash := strings.IndexByte(name, '.'), strings.IndexByte(name, '/'); dot >= 0 && (slash < 0 || dot < slash) {
		file = swap.Replace(name)
	}
	if file == "" || file != path.Clean(file) || path.IsAbs(file) || strings.HasPrefix(file, "..") ||
		!strings.Contains(file, "/") || strings.ContainsAny(file, "\x00\n\\\"' ") || !pattern.IsGlob(file) {
		return "", fmt.Errorf("%q is not the name of a kernel setting, such as kernel.numa_balancing", name)
	}
	return file, nil
}

// SysctlName is the dotted name of a path below /proc/sys.
func SysctlName(file string) string { return swap.Replace(file) }

// isPattern reports whether a path below /proc/sys is a glob.
func isPattern(file string) bool { return strings.ContainsAny(file, "*?[") }

// SysctlAttribute is the attribute of a setting: that of RFS's table has one of its
// own, because the kernel rounds its value up.
func SysctlAttribute(file string) attr.Attribute {
	if file == rfsEntries {
		return attr.RFSEntries
	}
	return attr.Sysctl
}
