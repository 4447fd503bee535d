// Package tunecmd has the commands that change tasks and CPUs, and those that look at,
// confirm and undo changes: pin, nice, policy and the other attributes, move and spread,
// run, isolate and include, cookie, rescue, journal, keep, undo.
package tunecmd

import "piton/internal/cli/app"

// Commands are the commands of this package.
func Commands() app.Commands {
	all := app.Commands{
		"pin": newPin, "run": newRun, "isolate": newIsolate, "include": newInclude, "move": newMove, "spread": newSpread,
		"undo": newUndo, "keep": newKeep, "rescue": newRescue, "journal": newJournal, "cookie": newCookie,
	}
	addValueVerbs(all)
	return all
}
