package cli

import "slices"

// tuneCommands are the commands of this room.
func tuneCommands() []maker {
	return slices.Concat([]maker{{"pin", newPin}}, valueVerbs(), []maker{
		{"run", newRun}, {"isolate", newIsolate}, {"include", newInclude}, {"move", newMove}, {"spread", newSpread},
		{"undo", newUndo}, {"keep", newKeep}, {"rescue", newRescue}, {"journal", newJournal}, {"cookie", newCookie},
	})
}
