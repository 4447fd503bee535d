package cli

import (
	"github.com/spf13/cobra"
)

// maker makes one of piton's commands.
type maker struct {
	name string
	make func(*app) *cobra.Command
}

// The groups of commands in the help.
const (
	groupTune  = "tune"
	groupProve = "prove"
	groupLook  = "look"
)
