package watchcmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/kernel"
)

type doctorOptions struct{ output output.Format }

func newDoctor(a *app.App) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "list the source of each figure here, its cost, and how to get a better one",
		Long: `Try each feature once, and print the source of its figures on this machine for this user, its cost now, why no better
source is in use, and the command that would change that.
It loads what it tries for half a second, and changes nothing else.

STATE is best (nothing better exists), fallback (a worse source is in use), missing, or unknown.
With -o json: a feature line for each, then a summary (see piton schema).`,
		Example: "  piton doctor\n  piton doctor -o json\n  sudo piton doctor",
		GroupID: app.GroupLook,
		Args:    flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd.Context(), a, o)
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	return cmd
}

var errDoctorLive = exit.With(exit.NotPermitted, errors.New("piton doctor examines this machine only, not --host-root"))

// The states of a feature.
const (
	stateBest     = "best"
	stateFallback = "fallback"
	stateMissing  = "missing"
	stateUnknown  = "unknown"
)

// finding is what doctor found out about one feature.
type finding struct {
	id, title string
	state     string
	source    string        // where the figures come from now, in words
	cost      string        // what that costs now, in words
	took      time.Duration // by sample; 0 if it is no figure of the sample
	share     float64       // of one core, for what runs in the kernel; 0 if nothing does
	reason    string        // why it is not better
	command   string        // that would make it better, "" if no command would
}

func runDoctor(ctx context.Context, a *app.App, o doctorOptions) error {
	if !a.Live() {
		return errDoctorLive
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	d := doctor{app: a, rights: rights{usable: kernel.UsableCapabilities, paranoid: perfParanoid}}
	if err := d.examine(ctx); err != nil {
		return err
	}
	if o.output.JSON() {
		featureList.Write(a, d.findings, o.output)
		doctorSummaryList.JSON(a, &d)
	} else {
		d.printText()
	}
	return nil
}
