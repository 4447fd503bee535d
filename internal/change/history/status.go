package history

import "piton/internal/change/attr"

// Status is what has become of an operation, or of one of its changes.
type Status uint8

// The statuses.
const (
	Unknown Status = iota // not looked at
	InForce
	PartlyInForce
	ChangedSince // by someone else
	ChangedAgain // by a newer operation
	Lapsed       // nobody changed it: a CPU went offline, as far as is known
	TaskEnded
	Undone
	PastBoot
	AnUndo
	ChangedNothing
	Foreign // made in another namespace
)

var statuses = [...]string{Unknown: "", InForce: "in force", PartlyInForce: "partly in force", ChangedSince: "changed by someone else", ChangedAgain: "changed again", Lapsed: NoLongerInForce,
	TaskEnded: "task has ended", Undone: "undone", PastBoot: "before this boot", AnUndo: "undo", ChangedNothing: "nothing changed", Foreign: "made in another namespace"}

func (s Status) String() string { return statuses[s] }

// NoLongerInForce is Lapsed in words.
const NoLongerInForce = "no longer in force"

// FileGone is TaskEnded of an interrupt, a queue or another file of the kernel.
const FileGone = "no longer there"

// Found is what has become of an entry's changes.
type Found struct {
	Status
	Words   string // instead of the Status's
	Changes map[attr.Key]FoundChange
}

// FoundChange is what has become of one change, and why.
type FoundChange struct {
	Status
	Why string
}

// BornWith is the reason of a change that needed no write.
const BornWith = "born meanwhile with the new value"
