package profilecmd

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/profile"
)

func newExport(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "write a process's settings for systemd or the shell",
		Long: `Write the settings that a process has now (CPUs, nice, policy, I/O priority, memory policy, weight and quota) as a drop-in for its
systemd service, or as a shell script.`,
		Example: "  piton export systemd nginx\n  piton export shell 3641",
		GroupID: app.GroupTune,
	}
	cmd.AddCommand(newExportSystemd(a), newExportShell(a))
	flags.NeedsCommand(cmd)
	return cmd
}

func newExportSystemd(a *app.App) *cobra.Command {
	dir, force := "", false
	cmd := &cobra.Command{
		Use:   "systemd TARGET",
		Short: "write a systemd drop-in with a process's settings",
		Long: `Write a drop-in (systemd.exec(5)) for the service that the process belongs to: CPUAffinity, Nice,
CPUSchedulingPolicy, CPUSchedulingPriority, CPUSchedulingResetOnFork, IOSchedulingClass, IOSchedulingPriority,
NUMAPolicy and NUMAMask, CPUWeight and CPUQuota of its control group, where they differ from systemd's defaults.
It is written to standard output, or with --dir to DIR/UNIT.d/50-piton.conf. A file there that piton did
not write, or that somebody has edited since, is left alone unless --force is given. The drop-in takes effect when
the service is restarted.`,
		Example: "  piton export systemd nginx\n  piton export systemd nginx --dir /etc/systemd/system && systemctl daemon-reload",
		Args:    flags.OneArg("target"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := currentSettings(a, args[0])
			if err != nil {
				return err
			}
			d, err := profile.Systemd(p)
			if err != nil {
				return err
			}
			if dir == "" {
				_, err := a.Write(d.Text)
				return err
			}
			if a.ReadOnly {
				return app.ErrReadOnly // a drop-in changes what the service has from its next start on
			}
			if d.User && systemOnly(dir) {
				return exit.Usagef("--dir %s is the system manager's, and %s is of a user's own, which looks in ~/.config/systemd/user", dir, d.Unit)
			}
			file, err := d.Save(dir, force)
			if err != nil {
				return notWritten(file, err)
			}
			manager := "systemctl"
			if d.User {
				manager += " --user"
			}
			a.Warn("wrote %s; it takes effect after %s daemon-reload and a restart of %s", file, manager, d.Unit)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write the drop-in below `DIR`, such as /etc/systemd/system")
	cmd.Flags().BoolVar(&force, "force", false, overEdited)
	return cmd
}

// systemOnly reports whether a folder is, or is below, one in which the system's own
// manager looks for units, and the users' managers do not (systemd.unit(5)).
func systemOnly(dir string) bool {
	full, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real // /lib is a link to /usr/lib
	}
	return slices.ContainsFunc([]string{"/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"}, func(top string) bool {
		below, err := filepath.Rel(top, full)
		return err == nil && filepath.IsLocal(below)
	})
}

func newExportShell(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "shell TARGET",
		Short: "write a process's settings as taskset, renice, ionice and chrt commands",
		Long: `Write a shell script that sets the process given as its argument as this one is set now, by taskset, renice, ionice
and chrt. A comment in it has the line that starts a command with these settings.`,
		Example: "  piton export shell 3641 > like-3641 && sh like-3641 4711",
		Args:    flags.OneArg("target"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := currentSettings(a, args[0])
			if err != nil {
				return err
			}
			_, err = a.Write(profile.Shell(p))
			return err
		},
	}
}

// currentSettings gathers the settings of the process that a word means; several are fine
// if all have the same.
func currentSettings(a *app.App, word string) (profile.UnitSettings, error) {
	found, _, err := a.Targets([]string{word}, change.ScopeProcess)
	if err != nil {
		return profile.UnitSettings{}, err
	}
	s, err := readState(a, profile.Needs{Tasks: true})
	if err != nil {
		return profile.UnitSettings{}, err
	}
	s.Self = 0 // piton's own settings may be asked for
	var first profile.UnitSettings
	for i, t := range found.Targets {
		p, err := profile.SettingsOf(s, t.TID, memoryPolicy(a, t.TID))
		switch {
		case err != nil:
			return p, err
		case i == 0:
			first = p
		case !profile.SameSettings(first, p):
			return p, fmt.Errorf("%q means %d processes that are set differently, such as %d and %d: name one by its number",
				word, len(found.Targets), first.PID, p.PID)
		}
	}
	return first, nil
}

// memoryPolicy is that of a process, "" where it cannot be read.
func memoryPolicy(a *app.App, pid kernel.TID) string {
	maps, err := procfs.New(a.HostRoot).NumaMaps(pid)
	if err != nil {
		return ""
	}
	policies := make([]string, len(maps))
	for i, m := range maps {
		policies[i] = m.Policy
	}
	return profile.NumaPolicy(policies)
}
