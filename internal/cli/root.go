package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"piton/internal/kernel"
)

// The groups of commands in the help.
const (
	groupTune  = "tune"
	groupProve = "prove"
	groupLook  = "look"
)

const rootLong = `piton shows which tasks migrate between CPUs, puts them on the right CPU, priority or policy, and measures whether that helped.

Without a command it opens the full-screen tuner. With --headless it prints samples for scripts or, given
--pin, --nice, --policy or --ioprio, changes the tasks of --pid once.`

// Root is the command piton with all that are below it, for its manual pages.
func Root() *cobra.Command { return newRoot(&app{}) }

func newRoot(a *app) *cobra.Command {
	o := newRootOptions()
	readonly := a.readonly // before the flags are read
	root := &cobra.Command{
		Use:   "piton [flags]",
		Short: "see, tune and prove where tasks run",
		Long:  rootLong + "\n\n" + exitHelp(),
		Example: `  piton                                            the full-screen tuner
  piton --headless -n 1 -o json                    one sample, a JSON object a line
  piton --headless --sort mig --filter 'mig>10'    tasks by migrations, every second
  piton --headless --pid 3641 --pin least-loaded --policy fifo --rtprio 10
  piton pin nginx --place spread`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              noCommand,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := noEmptyFlags(cmd); err != nil {
				return err
			}
			a.readonly = a.readonly || readonly
			if err := a.checkReadOnly(cmd); err != nil {
				return err
			}
			return a.setUp(cmd.Flags().Changed("host-root"))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runRoot(cmd.Context(), a, o, cmd.Flags())
		},
	}
	root.SetVersionTemplate("piton {{.Version}}\n")
	root.SetFlagErrorFunc(a.flagError)
	root.SetHelpCommand(newHelp())
	root.PersistentFlags().StringVar(&a.hostRoot, "host-root", "", "read /proc and /sys below `DIR`; nothing can be changed then (PITON_HOST_ROOT)")
	a.source = choice{value: sourceAuto, among: []string{sourceAuto, sourceProc}}
	root.PersistentFlags().Var(&a.source, "source", "where figures come from: eBPF programs where they can run, or only /proc and perf")
	root.PersistentFlags().BoolVar(&a.readonly, "readonly", a.readonly, "only look: no command, flag or key that changes the system exists (PITON_READONLY)")
	root.PersistentFlags().BoolVar(&a.noColor, "no-color", false, "no colours (also NO_COLOR)")
	root.PersistentFlags().BoolVar(&a.ascii, "ascii", false, "draw with ASCII only")
	root.Flags().BoolP("version", "V", false, "print the version")
	o.addFlags(root.Flags(), a.readonly)
	root.Flags().SortFlags = false
	root.AddGroup(&cobra.Group{ID: groupTune, Title: "Tune:"}, &cobra.Group{ID: groupProve, Title: "Prove:"},
		&cobra.Group{ID: groupLook, Title: "Look:"})
	a.addCommands(root)
	if a.readonly {
		root.Long, root.Example = readOnlyLong+"\n\n"+exitHelp(), readOnlyExample
		lookOnly(root)
	}
	return root
}

// live reports whether piton looks at the machine that it runs on, and may act on it.
func (a *app) live() bool { return !a.recorded }

// setUp completes the global flags from the environment.
func (a *app) setUp(given bool) error {
	if a.hostRoot == "" {
		a.hostRoot = a.getenv("PITON_HOST_ROOT")
	}
	a.recorded = given || a.hostRoot != ""
	if a.hostRoot == "" {
		a.hostRoot = "/"
	} else if err := kernel.DropCapabilities(); err != nil { // what is below is its maker's
		return err
	}
	dir, err := filepath.Abs(a.hostRoot)
	if err != nil {
		return usagef("--host-root %s: %w", a.hostRoot, err)
	}
	a.hostRoot = dir
	if a.live() {
		return nil
	}
	for _, sub := range []string{"proc", "sys"} {
		fd, err := kernel.OpenDir(kernel.NoDir, []byte(filepath.Join(dir, sub)+"\x00"))
		if err == nil {
			return kernel.CloseFile(fd)
		}
		if errors.Is(err, syscall.ELOOP) {
			return usagef("--host-root %s leads through a link into a process's open files; mount it elsewhere to read it", dir)
		}
	}
	return usagef("--host-root %s: there is neither proc nor sys below it", dir)
}

// noArgs is for commands that take none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// noCommand refuses words where a command should stand.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(args[0][:min(len(args[0]), 32)]); len(like) > 0 { // memory is by the word's length
		return usagef("there is no command %q; did you mean %s?", args[0], strings.Join(like, " or "))
	}
	return usagef("there is no command %q (see piton --help)", args[0])
}

// takesOne is for commands that take one word.
func takesOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usagef("%s takes one %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// needArgs is for commands that take at least n words.
func needArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n || n > 0 && args[0] == "" { // of a variable that is not set
			return usageError{fmt.Errorf("%s needs %s", cmd.CommandPath(), what)}
		}
		return nil
	}
}
