package profilecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/profile"
	"piton/internal/userfile"
)

func newProfiles(a *app.App) *cobra.Command {
	var out output.Format
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "list the profiles that can be applied by name",
		Long: `List the profiles that piton apply and piton verify find by name: those of the user, of piton and of tuna.
With -o json: profile lines (see piton schema profile).`,
		Example: "  piton profiles\n  piton apply realtime --check",
		GroupID: app.GroupTune,
		Args:    flags.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			listProfiles(a, out)
			return nil
		},
	}
	out.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON, output.AsCSV)
	return cmd
}

// profileDirs are where profiles are looked for by name, the nearest first.
func profileDirs(a *app.App) []string {
	dirs := []string{"/etc/piton/profiles", "/etc/tuna"}
	if own := a.ConfigFile("profiles"); own != "" {
		dirs = slices.Insert(dirs, 0, own)
	}
	return dirs
}

// findProfile is the file of a profile: the path given, else a name in one of the
// folders.
func findProfile(a *app.App, name string) string {
	if _, err := os.Stat(name); err == nil || strings.Contains(name, "/") {
		return name
	}
	for _, dir := range profileDirs(a) {
		for _, end := range []string{"", ".toml", ".conf"} {
			path := filepath.Join(dir, name+end)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path
			}
		}
	}
	return name
}

func listProfiles(a *app.App, out output.Format) {
	var found []profileFile
	dirs := profileDirs(a)
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.Warn("%v", err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !slices.Contains([]string{".toml", ".conf"}, filepath.Ext(path)) {
				continue
			}
			origin, has, problem := aboutProfile(path)
			found = append(found, profileFile{e.Name(), path, origin, has, problem})
		}
	}
	if out.Value == output.AsTable && len(found) == 0 {
		fmt.Fprintf(a, "there are no profiles in %s\n", strings.Join(dirs, ", "))
		return
	}
	profileList.Write(a, found, out)
}

// profileFile is a file in one of the folders.
type profileFile struct{ name, path, origin, has, problem string }

var profileList = output.NewList("profiles", "profile", "a profile that can be applied by name",
	output.Col("name", "NAME", output.Text, "its name", func(p profileFile) any { return p.name }),
	output.Col("path", "PATH", output.Text, "its file", func(p profileFile) any { return p.path }),
	output.Col("origin", "ORIGIN", output.MaybeText, "what wrote it", func(p profileFile) any { return field.NonEmpty(p.origin) }),
	output.Col("has", "HAS", output.MaybeText, "what it has", func(p profileFile) any { return field.NonEmpty(p.has) }).
		As(func(p profileFile) string { return p.has + p.problem }),
	output.Col("error", "", output.Text, "why it is none", func(p profileFile) any { return p.problem }))

// aboutProfile says what a file is and has, or why it is none.
func aboutProfile(path string) (origin, has, problem string) {
	data, untrusted, err := userfile.Steering(path, profile.MaxSize)
	if err == nil {
		err = untrusted
	}
	if err != nil {
		return "", "", err.Error()
	}
	p, err := profile.Parse(data)
	if err != nil {
		return "", "", err.Error()
	}
	return p.Origin, p.Summary(), ""
}
