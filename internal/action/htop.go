package action

import (
	"fmt"
	"slices"
)

// HtopKey is a key of htop, or several that do the same there, and what piton has
// for it.
type HtopKey struct {
	Keys  []string // names as charm.land/bubbles/v2/key matches them
	Label string   // the keys as the help writes them
	Does  string   // what it does in htop
	ID    string   // the verb that does the same, "" if there is none
	Hint  string   // how to do it here, where the key does not
}

// Htop are the keys of htop 3.5: of its help screen (F1), of its manual page, and of
// Action_setBindings and Panel_onKey in its source. Platform keys are Linux's.
var Htop = []HtopKey{
	{Keys: []string{"up"}, Label: "↑", Does: "one row up", ID: "move.up"},
	{Keys: []string{"down"}, Label: "↓", Does: "one row down", ID: "move.down"},
	{Keys: []string{"left"}, Label: "←", Does: "scroll left", ID: "move.left"},
	{Keys: []string{"right"}, Label: "→", Does: "scroll right", ID: "move.right"},
	{Keys: []string{"alt+k"}, Label: "Alt-k", Does: "one row up", ID: "move.up", Hint: "↑"},
	{Keys: []string{"ctrl+p"}, Label: "^P", Does: "one row up", ID: "move.up", Hint: "↑"},
	{Keys: []string{"alt+j"}, Label: "Alt-j", Does: "one row down", ID: "move.down", Hint: "↓ or j"},
	{Keys: []string{"ctrl+n"}, Label: "^N", Does: "one row down", ID: "move.down", Hint: "↓ or j"},
	{Keys: []string{"alt+h"}, Label: "Alt-h", Does: "scroll left", ID: "move.left", Hint: "←"},
	{Keys: []string{"ctrl+b"}, Label: "^B", Does: "scroll left", ID: "move.left", Hint: "←"},
	{Keys: []string{"alt+l"}, Label: "Alt-l", Does: "scroll right", ID: "move.right", Hint: "→"},
	{Keys: []string{"ctrl+f"}, Label: "^F", Does: "scroll right", ID: "move.right", Hint: "→"},
	{Keys: []string{"pgup"}, Label: "PgUp", Does: "one page up", ID: "move.pageup"},
	{Keys: []string{"pgdown"}, Label: "PgDn", Does: "one page down", ID: "move.pagedown"},
	{Keys: []string{"home"}, Label: "Home", Does: "first row", ID: "move.home"},
	{Keys: []string{"end"}, Label: "End", Does: "last row", ID: "move.end"},
	{Keys: []string{"ctrl+a", "^"}, Label: "^A ^", Does: "scroll to the beginning of the line", Hint: "← scrolls left"},
	{Keys: []string{"ctrl+e", "$"}, Label: "^E $", Does: "scroll to the end of the line", Hint: "→ scrolls right"},
	{Keys: []string{"tab"}, Label: "Tab", Does: "next screen tab", ID: "layout.next", Hint: "L: next layout"},
	{Keys: []string{"shift+tab"}, Label: "⇧Tab", Does: "previous screen tab", ID: "layout.next", Hint: "L goes round the layouts"},
	{Keys: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, Label: "0-9", Does: "search for a PID", Hint: "/ with digits finds a PID; 1-5 switch views"},
	{Keys: []string{"f3", "/"}, Label: "F3 /", Does: "search by name", ID: "find.search"},
	{Keys: []string{"shift+f3", "f15"}, Label: "⇧F3", Does: "previous match of the search", Hint: "F3 goes round all matches"},
	{Keys: []string{"f4", "\\"}, Label: `F4 \`, Does: "filter by name", ID: "find.filter"},
	{Keys: []string{"f5", "t"}, Label: "F5 t", Does: "tree view", ID: "show.tree"},
	{Keys: []string{"f6", "<", ">"}, Label: "F6 < >", Does: "choose the column to sort by", ID: "sort.menu"},
	{Keys: []string{"shift+f6", "f18", ",", "."}, Label: "⇧F6 , .", Does: "choose the column to sort by", ID: "sort.menu", Hint: "F6, < or >"},
	{Keys: []string{"I"}, Label: "I", Does: "invert the order", ID: "sort.invert"},
	{Keys: []string{"N"}, Label: "N", Does: "sort by PID", ID: "sort.pid"},
	{Keys: []string{"P"}, Label: "P", Does: "sort by CPU%", ID: "sort.cpu_percent"},
	{Keys: []string{"M"}, Label: "M", Does: "sort by MEM%", ID: "sort.mem_percent"},
	{Keys: []string{"T"}, Label: "T", Does: "sort by TIME+", ID: "sort.time_s"},
	{Keys: []string{"+", "-"}, Label: "+ -", Does: "expand or collapse the subtree", ID: "show.fold"},
	{Keys: []string{"="}, Label: "=", Does: "expand or collapse the subtree", ID: "show.fold", Hint: "+ or -"},
	{Keys: []string{"*"}, Label: "*", Does: "expand or collapse all subtrees", Hint: "+ or - on each subtree"},
	{Keys: []string{"backspace"}, Label: "⌫", Does: "collapse the subtree of the parent", Hint: "- on the parent"},
	{Keys: []string{"space"}, Label: "Space", Does: "tag or untag", ID: "tag.toggle"},
	{Keys: []string{"c"}, Label: "c", Does: "tag with its children", ID: "tag.children"},
	{Keys: []string{"U"}, Label: "U", Does: "untag all", ID: "tag.none"},
	{Keys: []string{"u"}, Label: "u", Does: "processes of one user", ID: "find.user"},
	{Keys: []string{"H"}, Label: "H", Does: "user threads on or off", ID: "show.threads"},
	{Keys: []string{"K"}, Label: "K", Does: "kernel threads on or off", ID: "show.kernel"},
	{Keys: []string{"O"}, Label: "O", Does: "processes in containers on or off", Hint: "the filter cgroup~NAME shows one container or unit"},
	{Keys: []string{"F"}, Label: "F", Does: "follow the selected process", ID: "show.follow"},
	{Keys: []string{"Z"}, Label: "Z", Does: "pause or go on", ID: "show.pause"},
	{Keys: []string{"#"}, Label: "#", Does: "header meters on or off", ID: "show.panel"},
	{Keys: []string{"p"}, Label: "p", Does: "full paths of programs on or off", Hint: "F2 shows COMM, the name, or COMMAND, the whole command line"},
	{Keys: []string{"m"}, Label: "m", Does: "merge program, name and command line", Hint: "F2 shows COMM beside COMMAND"},
	{Keys: []string{"w"}, Label: "w", Does: "the command line in several lines", Hint: "→ scrolls; Enter opens the detail pane"},
	{Keys: []string{"f7", "]"}, Label: "F7 ]", Does: "higher priority: nice one lower", ID: "tune.nice.lower"},
	{Keys: []string{"f8", "["}, Label: "F8 [", Does: "lower priority: nice one higher", ID: "tune.nice.raise"},
	{Keys: []string{"shift+f7", "f19", "}"}, Label: "⇧F7 }", Does: "higher priority of the autogroup", Hint: "piton nice PID VALUE --autogroup"},
	{Keys: []string{"shift+f8", "f20", "{"}, Label: "⇧F8 {", Does: "lower priority of the autogroup", Hint: "piton nice PID VALUE --autogroup"},
	{Keys: []string{"a"}, Label: "a", Does: "choose the CPUs it may run on", ID: "tune.affinity"},
	{Keys: []string{"Y"}, Label: "Y", Does: "scheduling policy", ID: "tune.policy"},
	{Keys: []string{"i"}, Label: "i", Does: "I/O priority", ID: "tune.ioprio"},
	{Keys: []string{"f9", "k"}, Label: "F9 k", Does: "send a signal", ID: "tune.signal"},
	{Keys: []string{"e"}, Label: "e", Does: "environment of the process", ID: "show.environment"},
	{Keys: []string{"l"}, Label: "l", Does: "open files", ID: "show.files"},
	{Keys: []string{"x"}, Label: "x", Does: "file locks of the process", Hint: "lslocks -p PID"},
	{Keys: []string{"s"}, Label: "s", Does: "system calls, by strace", ID: "show.trace"},
	{Keys: []string{"b"}, Label: "b", Does: "backtrace of the process", Hint: "eu-stack -p PID"},
	{Keys: []string{"f2", "S"}, Label: "F2 S", Does: "setup", ID: "app.setup"},
	{Keys: []string{"C"}, Label: "C", Does: "setup", ID: "app.setup", Hint: "F2 or S"},
	{Keys: []string{"f1", "h", "?"}, Label: "F1 h ?", Does: "help", ID: "app.help"},
	{Keys: []string{"ctrl+l"}, Label: "^L", Does: "repaint the screen", ID: "app.repaint"},
	{Keys: []string{"esc"}, Label: "Esc", Does: "close a search or filter", ID: "app.back"},
	{Keys: []string{"f10", "q"}, Label: "F10 q", Does: "quit", ID: "app.quit"},
}

// HtopHint says how to do here what htop does on a key that has no meaning here:
// "lslocks -p PID (htop: file locks of the process)". ok is false for other keys.
func HtopHint(key string) (hint string, ok bool) {
	for i := range Htop {
		if k := &Htop[i]; k.Hint != "" && slices.Contains(k.Keys, key) {
			return fmt.Sprintf("%s (htop: %s)", k.Hint, k.Does), true
		}
	}
	return "", false
}
