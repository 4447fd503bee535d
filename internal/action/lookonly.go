package action

import "slices"

// LookOnly takes every verb that changes the system out of the table, for good:
// its keys mean nothing then, and no help names it. Call it before the screen is
// made.
func LookOnly() { Specs = Looking() }

// Looking returns the verbs that change nothing.
func Looking() []Spec {
	return slices.DeleteFunc(slices.Clone(Specs), func(s Spec) bool { return s.Mutates })
}
