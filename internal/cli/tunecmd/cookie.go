package tunecmd

import (
	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/kernel"
	"piton/internal/target"
)

// newCookie is "piton cookie" with what can be done to cookies.
func newCookie(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cookie create|share|clear",
		Short: "set which tasks may share a core (core scheduling)",
		Long: `The SMT siblings of a core never run tasks of different cookies at once: a task with one shares its core with tasks
of the same cookie only. It needs SMT and a kernel with CONFIG_SCHED_CORE, which piton doctor checks.`,
		Example: "  piton cookie create 3641 --tree\n  piton cookie share 3641 3700\n  piton cookie clear 3641",
		GroupID: app.GroupTune,
	}
	cmd.AddCommand(
		cookieVerb(a, "create TARGET…", "give tasks a cookie of their own, one for all that are named", "  piton cookie create 3641", 0, attr.CookieValue{New: true}),
		cookieVerb(a, "share SOURCE TARGET…", "give tasks the cookie that the task SOURCE has, a PID or TID", "  piton cookie share 3641 3700", 1, attr.CookieValue{}),
		cookieVerb(a, "clear TARGET…", "remove the cookies of tasks", "  piton cookie clear 3641", 0, attr.CookieValue{}))
	flags.NeedsCommand(cmd)
	return cmd
}

// cookieVerb makes one; with a source, its first word says whose cookie to take.
func cookieVerb(a *app.App, use, short, example string, source int, value attr.CookieValue) *cobra.Command {
	var o verbOptions
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Long: short + ".\n\n" + flags.TargetHelp,
		Args: flags.NeedArgs(1+source, "a target"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if source > 0 {
				if value.From, err = sharer(args[0]); err != nil {
					return err
				}
			}
			return runVerb(cmd, a, args[source:], action.Tuning{Set: []attr.Setting{attr.SetCookie(value)}}, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func sharer(word string) (kernel.TID, error) {
	e, err := target.Parse(word)
	if err != nil {
		return 0, exit.With(exit.Usage, err)
	}
	tid, ok := e.PID()
	if !ok {
		return 0, exit.Usagef("the task to share with is named by its PID or TID, not by %q", word)
	}
	return tid, nil
}
