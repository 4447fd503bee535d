package tunecmd

import (
	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
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
		cookieVerb(a, "create TARGET…", "give tasks a cookie of their own, one for all that are named",
			"  piton cookie create 3641", 1, func([]string) (attr.CookieValue, []string, error) {
				return attr.CookieValue{New: true}, nil, nil
			}),
		cookieVerb(a, "share SOURCE TARGET…", "give tasks the cookie that the task SOURCE has, a PID or TID",
			"  piton cookie share 3641 3700", 2, sharedCookie),
		cookieVerb(a, "clear TARGET…", "remove the cookies of tasks",
			"  piton cookie clear 3641", 1, func([]string) (attr.CookieValue, []string, error) {
				return attr.CookieValue{}, nil, nil
			}))
	flags.NeedsCommand(cmd)
	return cmd
}

// cookieVerb makes one; setting may take words off the front.
func cookieVerb(a *app.App, use, short, example string, least int, setting func([]string) (attr.CookieValue, []string, error)) *cobra.Command {
	var o verbOptions
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Long: short + ".\n\n" + flags.TargetHelp,
		Args: flags.NeedArgs(least, "a target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, rest, err := setting(args)
			if err != nil {
				return err
			}
			if rest != nil {
				args = rest
			}
			return runVerb(cmd, a, args, action.Tuning{Set: []attr.Setting{attr.SetCookie(s)}}, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func sharedCookie(args []string) (attr.CookieValue, []string, error) {
	e, err := target.Parse(args[0])
	if err != nil {
		return attr.CookieValue{}, nil, exit.With(exit.Usage, err)
	}
	tid, ok := e.PID()
	if !ok {
		return attr.CookieValue{}, nil, exit.Usagef("the task to share with is named by its PID or TID, not by %q", args[0])
	}
	return attr.CookieValue{From: tid}, args[1:], nil
}
