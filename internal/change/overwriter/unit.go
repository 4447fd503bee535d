package overwriter

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// unitDirs are where systemd looks for units, first to last; system.control has what systemctl set-property
// set (systemd.unit(5)).
var unitDirs = []string{"etc/systemd/system.control", "run/systemd/system.control", "run/systemd/transient", "etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"}

// unitSets returns the directives of the unit and its drop-ins that set one of
// the attributes (systemd.exec(5), systemd.resource-control(5)), as they stand
// there: "Nice=5".
func (m machine) unitSets(unit string, attributes []attr.Attribute) []string {
	var out []string
	for _, file := range m.unitFiles(unit) {
		data, _ := procfs.ReadFile(file) // none: it is not there
		for line := range strings.Lines(string(data)) {
			name, value, ok := strings.Cut(line, "=")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			if !ok || !setsOne(name, attributes) {
				continue
			}
			out = slices.DeleteFunc(out, func(earlier string) bool { return strings.HasPrefix(earlier, name+"=") })
			if value != "" { // "" resets it
				out = append(out, name+"="+value)
			}
		}
	}
	return out
}

// unitFiles returns the unit's file and its drop-ins, in the order in which
// systemd reads them; of an instance, name@x.service, the template's as well.
func (m machine) unitFiles(unit string) []string {
	names := []string{unit}
	if name, _, ok := strings.Cut(unit, "@"); ok {
		names = append(names, name+"@.service")
	}
	var main string
	var drops []string
	for _, name := range names {
		for _, dir := range unitDirs {
			file := filepath.Join(m.proc.Root(), dir, name)
			if _, err := tree.Stat(file); err == nil {
				main = cmp.Or(main, file)
			}
			drops = append(drops, tree.Glob(file+".d", "*.conf")...)
		}
	}
	slices.SortFunc(drops, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	return append([]string{main}, drops...)
}
