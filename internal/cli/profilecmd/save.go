package profilecmd

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/kernel"
	"piton/internal/partition"
	"piton/internal/procfs"
	"piton/internal/profile"
)

const saveLong = `Write a profile of how this machine is tuned: the settings that differ from the defaults of Linux (affinity, nice,
policy, I/O priority, interrupts, RPS, workqueues, isolation), and those that piton has changed in this boot.
Tasks are matched by name, command line and cgroup, interrupts by handler and device; no number is saved.

With TARGETs, save every setting of those processes and nothing else; a TID means its process.
With --all, save every setting of everything, and the kernel settings that tuning guides change.
--sysctl adds kernel settings by name or glob.
The file is replaced as a whole. A file that piton save did not write, or that somebody has edited since,
is left alone unless --force is given. "-" writes to standard output.`

// overEdited is the help of --force where it is about a file.
const overEdited = "also over a file that was edited"

type saveOptions struct {
	all, force bool
	cpu        string
	sysctls    []string
}

func newSave(a *app.App) *cobra.Command {
	var o saveOptions
	cmd := &cobra.Command{
		Use:     "save FILE [TARGET…]",
		Short:   "write how the machine is tuned to a profile",
		Long:    saveLong,
		Example: "  piton save rt.toml\n  piton save - nginx\n  piton save rt.toml --sysctl 'vm.dirty_*' --force",
		GroupID: app.GroupTune,
		Args:    flags.NeedArgs(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			return runSave(a, args[0], args[1:], o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "every setting, also those that are as Linux starts")
	cmd.Flags().StringArrayVar(&o.sysctls, "sysctl", nil, "also the kernel settings of this `NAME` or glob")
	cmd.Flags().StringVar(&o.cpu, "cpu", "", "only tasks and interrupts that may come to one of these `CPUS`")
	cmd.Flags().BoolVar(&o.force, "force", false, overEdited)
	return cmd
}

func runSave(a *app.App, file string, words []string, o saveOptions) error {
	if o.all && len(words) > 0 {
		return exit.Usagef("--all and %q exclude each other", words[0])
	}
	entries := journalEntries(a)
	past := partition.Past(entries)
	options := profile.CaptureOptions{All: o.all, Journal: entries, Isolated: past.Apart()}
	var err error
	if options.CPUs, err = a.FlagCPUs("--cpu", o.cpu); err != nil {
		return err
	}
	for _, name := range o.sysctls {
		path, err := profile.SysctlPath(name)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		options.Sysctls = append(options.Sysctls, path)
	}
	if err := only(a, words, &options); err != nil {
		return err
	}
	s, err := readState(a, profile.Needs{Tasks: true, Interrupts: len(words) == 0})
	if err != nil {
		return err
	}
	p := profile.Capture(s, options)
	for _, note := range p.Notes {
		a.Warn("%s", note)
	}
	return store(a, file, p, o.force)
}

// only finds the processes that the words mean; a thread's number means its process.
func only(a *app.App, words []string, o *profile.CaptureOptions) error {
	if len(words) == 0 {
		return nil
	}
	c, err := a.Choose(words, change.ScopeProcess)
	if err != nil {
		return err
	}
	o.Only = map[kernel.TID]bool{}
	proc := procfs.New(a.HostRoot)
	for _, t := range c.Targets {
		if t.Scope == change.ScopeThread {
			return exit.Usagef("a profile is of whole processes, and thread:/regex/ means single threads")
		}
		st, err := proc.Status(t.TID)
		if err != nil {
			return fmt.Errorf("there is no process or thread %d", t.TID)
		}
		o.Only[st.TGID] = true
	}
	return nil
}

func store(a *app.App, file string, p *profile.Profile, force bool) error {
	if file == "-" {
		_, err := a.Write(profile.Encode(p))
		return err
	}
	if err := profile.Save(file, p, force); err != nil {
		return notWritten(file, err)
	}
	a.Warn("%s has %s", file, p.Summary())
	return nil
}

// notWritten is the error for a file that was not written.
func notWritten(file string, err error) error {
	if errors.Is(err, profile.ErrEdited) {
		return fmt.Errorf("%w; --force overwrites it", err)
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok { // of the file that is there, which the error names
		return err
	}
	return fmt.Errorf("write %s: %w", file, err)
}
