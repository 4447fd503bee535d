package profilecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/profile"
)

const sysctlLong = `Show kernel settings below /proc/sys, by name or glob; or set them, with the old values recorded for piton undo.
piton save --sysctl adds them to a profile.
With -o json: sysctl lines, or those of every change (see piton schema).`

func newSysctl(a *app.App) *cobra.Command {
	var o changes.Options
	cmd := &cobra.Command{
		Use:     "sysctl {NAME | GLOB | NAME=VALUE}…",
		Short:   "show kernel settings, or set them with undo",
		Long:    sysctlLong,
		Example: "  piton sysctl 'kernel.sched_*'\n  piton sysctl vm.swappiness=10 kernel.numa_balancing=0",
		GroupID: app.GroupTune,
		Args:    flags.NeedArgs(1, "the name of a kernel setting"),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := assignments(args)
			if err != nil {
				return err
			}
			if settings == nil {
				return showSysctls(a, args, o.Output)
			}
			return changes.Run(cmd.Context(), a, o, func(ctx context.Context, t *change.Tuner) (change.Plan, error) {
				if err := noSysctl(settings); err != nil {
					return change.Plan{}, err
				}
				return t.Plan(ctx, []change.Request{{Files: settings}})
			})
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// assignments reads NAME=VALUE words; nil if none is one. A glob cannot be set.
func assignments(words []string) ([]attr.FileSetting, error) {
	var out []attr.FileSetting
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			continue
		}
		path, err := profile.SysctlPath(strings.TrimSpace(name))
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		if strings.ContainsAny(path, "*?[") {
			return nil, exit.Usagef("%s: a glob can be shown, and is not set: name the settings", name)
		}
		set := profile.SysctlAttribute(path)
		v, err := set.Parse(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, attr.SetFile(set, "/proc/sys/"+path, profile.SysctlName(path), v))
	}
	if len(out) > 0 && len(out) < len(words) {
		return nil, exit.Usagef("either names to show or NAME=VALUE to set, not both")
	}
	return out, nil
}

// noSysctl is the error of settings that this kernel does not have.
func noSysctl(settings []attr.FileSetting) error {
	var errs []error
	for _, s := range settings {
		if _, err := os.Stat(s.Path); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, errNoSysctl(s.Name))
		}
	}
	return errors.Join(errs...)
}

func errNoSysctl(name string) error { return fmt.Errorf("there is no kernel setting %s here", name) }

// sysctl is a kernel setting.
type sysctl struct{ file, value string }

var sysctlList = output.NewList("sysctl", "sysctl", "a kernel setting",
	output.Col("name", "NAME", output.Text, "its name", func(s sysctl) any { return profile.SysctlName(s.file) }),
	output.Col("value", "VALUE", output.Text, "its value", func(s sysctl) any { return s.value }),
	output.Col("path", "", output.Text, "its file", func(s sysctl) any { return "/proc/sys/" + s.file }))

// showSysctls prints settings. Those that cannot be read are left out and reported;
// write-only ones of a glob are left out.
func showSysctls(a *app.App, words []string, o output.Format) error {
	s, err := readState(a, profile.Needs{})
	if err != nil {
		return err
	}
	var shown []sysctl
	var failed error
	for _, word := range words {
		path, err := profile.SysctlPath(word)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		files := s.Sysctls(path)
		if len(files) == 0 {
			failed = errors.Join(failed, errNoSysctl(word))
		}
		for _, file := range files {
			value, err := s.Sysctl(file)
			if err != nil {
				if !errors.Is(err, fs.ErrPermission) || len(files) == 1 {
					failed = errors.Join(failed, fmt.Errorf("read %s: %w", profile.SysctlName(file), err))
				}
				continue
			}
			shown = append(shown, sysctl{file, value})
		}
	}
	if o.Value == output.AsCSV || len(shown) > 0 {
		sysctlList.Write(a, shown, o)
	}
	if failed != nil && len(shown) > 0 {
		return exit.With(exit.Some, failed)
	}
	return failed
}
