package procfs

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// unitTypes are the suffixes of units (systemd.unit(5)).
var unitTypes = []string{"service", "socket", "target", "device", "mount", "automount", "swap", "timer", "path", "slice", "scope"}

// UnitOf returns the unit whose control group a path is, or is below, as systemd itself
// decides (cg_path_get_unit and cg_path_get_user_unit in its src/basic/cgroup-util.c): the
// leftmost group after the slices. What a unit's processes make below it, with whatever
// name, is part of it. user is the unit of a user's own manager, which unit then is,
// user@1000.service. Either is "" where there is none.
func UnitOf(cgroup string) (unit, user string) {
	unit, below := leftmostUnit(live(cgroup))
	if _, ok := managerOf(unit); ok {
		user, _ = leftmostUnit(below)
	}
	return unit, user
}

// Slices are the slices that a path begins with, which systemd alone makes.
func Slices(cgroup string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(strings.Trim(live(cgroup), "/"), "/") {
			if !isSlice(part) || !yield(unescaped(part)) {
				return
			}
		}
	}
}

// leftmostUnit skips slices, and returns the unit of the next group and the path below it.
func leftmostUnit(path string) (unit, below string) {
	for {
		var name string
		name, below, _ = strings.Cut(strings.TrimLeft(path, "/"), "/")
		if isSlice(name) {
			path = below
			continue
		}
		if unit = unescaped(name); isUnit(unit) && !strings.HasSuffix(unit, ".slice") {
			return unit, below
		}
		return "", ""
	}
}

// managerOf is the number of the user whose manager a unit is.
func managerOf(unit string) (uid string, ok bool) {
	uid, ok = strings.CutPrefix(unit, "user@")
	if ok {
		uid, ok = strings.CutSuffix(uid, ".service")
	}
	n, err := strconv.ParseUint(uid, 10, 32)
	return uid, ok && err == nil && strconv.FormatUint(n, 10) == uid
}

// live is the path of a group that may have been removed under its last processes
// (cgroups(7)).
func live(cgroup string) string { return strings.TrimSuffix(cgroup, " (deleted)") }

// unescaped takes away what keeps a group's name apart from files of the kernel
// (cg_unescape).
func unescaped(name string) string { return strings.TrimPrefix(name, "_") }

func isSlice(name string) bool {
	name = unescaped(name)
	return strings.HasSuffix(name, ".slice") && isUnit(name) && !strings.Contains(name, "@")
}

// isUnit reports whether systemd would take a name for a unit's (unit_name_is_valid): no
// template, and in its alphabet.
func isUnit(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || len(name) > 255 || !slices.Contains(unitTypes, name[dot+1:]) {
		return false
	}
	stem := name[:dot]
	for i := range len(stem) {
		c := stem[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune(`@:-_.\`, rune(c)) {
			return false
		}
	}
	at := strings.IndexByte(stem, '@')
	return at != 0 && at != len(stem)-1
}

// containerID is the least length of a hexadecimal name that is taken for a container's
// number, and shortID what is shown of it, as docker ps does.
const (
	containerID = 32
	shortID     = 12
)

// ContainerOf is the container whose control group a path is, or is below, with a short
// number: "docker:0123456789ab", "lxc:web"; "" for none. It is the outermost one: those in
// it are named by whoever is in it.
func ContainerOf(cgroup string) string {
	cgroup = strings.TrimLeft(live(cgroup), "/")
	if below, ok := strings.CutPrefix(cgroup, "lxc/"); ok {
		name, _, _ := strings.Cut(below, "/")
		return "lxc:" + name
	}
	for part := range strings.SplitSeq(cgroup, "/") {
		if container := containerNamed(part); container != "" {
			return container
		}
	}
	return ""
}

// containerNamed shortens docker-HEX.scope, cri-containerd-HEX.scope, crio-conmon-HEX,
// SLICE:cri-containerd:HEX, HEX, lxc.payload.NAME and lxc.monitor.NAME.
func containerNamed(name string) string {
	for _, lxc := range []string{"lxc.payload.", "lxc.monitor."} {
		if name, ok := strings.CutPrefix(name, lxc); ok {
			return "lxc:" + name
		}
	}
	name = strings.TrimSuffix(name, ".scope")
	i := strings.LastIndexAny(name, "-:")
	id := name[i+1:]
	if len(id) < containerID || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	if i < 0 {
		return id[:shortID]
	}
	kind := name[:i]
	return kind[strings.LastIndexByte(kind, ':')+1:] + ":" + id[:shortID]
}

// OwnerOf shortens a control group to its owner: the container, else the unit, each after
// the user's number where it is below a user's own manager: "1000/app.service". Of others it
// is the last name.
func OwnerOf(cgroup string) string {
	unit, user := UnitOf(cgroup)
	owner := ContainerOf(cgroup)
	if owner == "" {
		owner = strings.ReplaceAll(user, `\x2d`, "-") // systemd.unit(5) escapes it
	}
	if uid, ok := managerOf(unit); ok && owner != "" {
		return uid + "/" + owner
	}
	if owner == "" {
		owner = unit
	}
	if owner == "" {
		owner = strings.TrimRight(live(cgroup), "/")
		owner = owner[strings.LastIndexByte(owner, '/')+1:]
	}
	if owner == "" {
		return cgroup
	}
	return strings.ReplaceAll(owner, `\x2d`, "-")
}
