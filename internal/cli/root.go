package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/tui/theme"
)

const rootLong = `piton shows which tasks migrate between CPUs, puts them on the right CPU, priority or policy, and measures whether that helped.

Without a command it opens the full-screen tuner. With --headless it prints samples for scripts or, given
--pin, --nice, --policy or --ioprio, changes the tasks of --pid once.`

// Root is the command piton with all that are below it, for its manual pages.
func Root() *cobra.Command { return newRoot(&app.App{}) }

func newRoot(a *app.App) *cobra.Command {
	o := newRootOptions()
	readonly := a.ReadOnly // before the flags are read
	root := &cobra.Command{
		Use:   "piton [flags]",
		Short: "see, tune and prove where tasks run",
		Long:  rootLong + "\n\n" + exit.Help(),
		Example: `  piton                                            the full-screen tuner
  piton --headless -n 1 -o json                    one sample, a JSON object a line
  piton --headless --sort mig --filter 'mig>10'    tasks by migrations, every second
  piton --headless --pid 3641 --pin least-loaded --policy fifo --rtprio 10
  piton pin nginx --place spread`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              noCommand,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := noEmptyFlags(cmd); err != nil {
				return err
			}
			a.ReadOnly = a.ReadOnly || readonly
			if err := checkReadOnly(a, cmd); err != nil {
				return err
			}
			a.ASCII = theme.ASCII(a.ASCII, a.Env)
			return a.SetUp(cmd.Flags().Changed("host-root"))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.version {
				return printVersion(a)
			}
			return runRoot(cmd.Context(), a, o, cmd.Flags())
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(a, cmd, err) })
	root.SetHelpCommand(newHelp())
	root.PersistentFlags().StringVar(&a.HostRoot, "host-root", "", "read /proc and /sys below `DIR`; nothing can be changed then (PITON_HOST_ROOT)")
	flags.Optional.Add(root.PersistentFlags(), "host-root")
	a.Source = flags.Choice{Value: app.SourceAuto, Among: []string{app.SourceAuto, app.SourceProc}}
	root.PersistentFlags().Var(&a.Source, "source", "where figures come from: eBPF programs where they can run, or only /proc and perf")
	root.PersistentFlags().BoolVar(&a.ReadOnly, "readonly", a.ReadOnly, "only look: no command, flag or key that changes the system exists (PITON_READONLY)")
	root.PersistentFlags().BoolVar(&a.NoColor, "no-color", false, "no colours (also NO_COLOR)")
	root.PersistentFlags().BoolVar(&a.ASCII, "ascii", false, "draw with ASCII only (also where the locale is not UTF-8)")
	root.Flags().BoolVarP(&o.version, "version", "V", false, "print the version")
	o.addFlags(root.Flags(), a.ReadOnly)
	root.Flags().SortFlags = false
	root.AddGroup(&cobra.Group{ID: app.GroupTune, Title: "Tune:"}, &cobra.Group{ID: app.GroupProve, Title: "Prove:"},
		&cobra.Group{ID: app.GroupLook, Title: "Look:"})
	addCommands(a, root)
	if a.ReadOnly {
		root.Long, root.Example = readOnlyLong+"\n\n"+exit.Help(), readOnlyExample
		removeChanging(root)
	}
	return root
}

// noCommand refuses words where a command should stand.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(args[0][:min(len(args[0]), 32)]); len(like) > 0 { // the memory of suggestions grows with the word
		return exit.Usagef("there is no command %q; did you mean %s?", args[0], strings.Join(like, " or "))
	}
	return exit.Usagef("there is no command %q (see piton --help)", args[0])
}
