package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/profile"
	"piton/internal/tui/config"
	"piton/internal/userfile"
)

func newProfiles(a *app) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "list the profiles that can be applied by name",
		Long: `List the profiles that piton apply and piton verify find by name: those of the user, of piton and of tuna.
With -o json: {"type":"profile"} lines (name, path, origin, has, error).`,
		Example: "  piton profiles\n  piton apply realtime --check",
		GroupID: groupTune,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			a.listProfiles(out)
			return nil
		},
	}
	out.addFlag(cmd.Flags(), asTable, asJSON, asCSV)
	return cmd
}

// profileDirs are where profiles are looked for by name, the nearest first.
func (a *app) profileDirs() []string {
	dirs := []string{"/etc/piton/profiles", "/etc/tuna"}
	if settings := config.Path(a.getenv); settings != "" {
		dirs = slices.Insert(dirs, 0, filepath.Join(filepath.Dir(settings), "profiles"))
	}
	return dirs
}

// findProfile is the file of a profile: the path given, else a name in one of the
// folders.
func (a *app) findProfile(name string) string {
	if _, err := os.Stat(name); err == nil || strings.Contains(name, "/") {
		return name
	}
	for _, dir := range a.profileDirs() {
		for _, end := range []string{"", ".toml", ".conf"} {
			path := filepath.Join(dir, name+end)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path
			}
		}
	}
	return name
}

func (a *app) listProfiles(out output) {
	t := newTable("NAME", "PATH", "ORIGIN", "HAS")
	var l line
	for _, dir := range a.profileDirs() {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.warn("%v", err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !slices.Contains([]string{".toml", ".conf"}, filepath.Ext(path)) {
				continue
			}
			origin, has, problem := aboutProfile(path)
			if !out.json() {
				t.add(e.Name(), path, dash(origin), has+problem)
				continue
			}
			l.start("profile").add("name", e.Name()).add("path", path).add("origin", textOrNull(origin)).add("has", textOrNull(has)).add("error", problem)
			l.write(a)
		}
	}
	switch {
	case out.json():
	case out.value == asTable && len(t.rows) == 0:
		fmt.Fprintf(a, "there are no profiles in %s\n", strings.Join(a.profileDirs(), ", "))
	default:
		t.writeAs(a, out)
	}
}

// aboutProfile says what a file is and has, or why it is none.
func aboutProfile(path string) (origin, has, problem string) {
	data, err := userfile.Read(path, profile.MaxSize)
	if err != nil {
		return "", "", err.Error()
	}
	p, err := profile.Parse(data)
	if err != nil {
		return "", "", err.Error()
	}
	return p.Origin, p.Summary(), ""
}
