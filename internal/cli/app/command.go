package app

import "github.com/spf13/cobra"

// Commands make commands of piton, by name: all of them take half a millisecond, so
// only those that a command line needs are made.
type Commands map[string]func(*App) *cobra.Command

// The groups of commands in the help.
const (
	GroupTune  = "tune"
	GroupProve = "prove"
	GroupLook  = "look"
)
