package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGrabDropUndo puts a process on a CPU of the core panel, with the keys and
// with the mouse, and takes it back.
func TestGrabDropUndo(t *testing.T) {
	term, pid := seize(t, 120, 40)
	before := affinityOf(t, pid)
	if !strings.HasPrefix(before, "0-") && !strings.HasPrefix(before, "0,1") {
		t.Skipf("needs cpu 0 and cpu 1, and may use %s", before)
	}
	term.keys("d")
	term.wait(`placing hopper .* → cpu \d`)
	term.keys("1")
	term.wait(`placing hopper .* → cpu 1 `)
	term.keys("Enter")
	term.wait(`hopper .* → CPU 1 \(was`)
	assert.Equal(t, "1", affinityOf(t, pid))
	term.wait(`^▌\s*` + pidText(pid) + ` .*\s1\s`) // ALLOWED follows

	term.keys("z")
	term.until("the undo", func() bool { return affinityOf(t, pid) == before })

	term.keys("N") // rows stay where they are in the order of PIDs
	term.wait(`sort PID`)
	row := term.lineOf(pidText(pid) + ` .*hopper`)
	cpu := term.lineOf(`^(▸| )[┌└ ]?0 .*\d%`)
	term.mouse("0;20;%dM", row)  // press
	term.mouse("32;20;%dM", cpu) // drag
	term.wait(`placing hopper .* → cpu 0`)
	term.mouse("0;20;%dm", cpu) // release
	term.until("the change", func() bool { return affinityOf(t, pid) == "0" })
	term.keys("z")
	term.until("the undo of the drag", func() bool { return affinityOf(t, pid) == before })
	term.keys("q")
	term.wait(`ready> *$`)
}

// TestTicksFilterTheProcesses shows only what is on a CPU, or may run there.
func TestTicksFilterTheProcesses(t *testing.T) {
	pid := startBouncers(t, "hopper", 2)
	before := affinityOf(t, pid)
	if before == "1" {
		t.Skip("needs a CPU besides cpu 1")
	}
	output(t, "taskset", "-acp", "0", pidText(pid))
	term := openTerminal(t, 120, 40)
	term.run("piton")
	term.wait(`\[1 Processes\]`)
	term.keys(`\`, "hopper", "Enter")
	term.wait(pidText(pid) + ` .*hopper`)
	term.keys("C", "1", "Space")
	term.wait(`filter hopper on=1 `)
	term.wait(`no task matches the filter|cpu 1 `)
	assert.NotRegexp(t, pidText(pid)+` .*hopper`, term.frame(), "it is not on cpu 1")
	term.keys("Space", "0", "Space", "f")
	term.wait(`filter hopper allowed~0 `)
	term.wait(pidText(pid) + ` .*hopper`)
	term.keys("Escape")
	term.until("the list has the keys", func() bool { return !strings.Contains(term.frame(), "Space ticks") }) // else the two are one key with Alt
	term.keys("Escape")
	term.until("the filter is gone", func() bool { return !strings.Contains(term.frame(), "allowed~0") })
	term.keys("q")
	term.wait(`ready> *$`)
}

// lineOf is the line of the screen, from 1, that matches.
func (term *terminal) lineOf(pattern string) int {
	term.t.Helper()
	re, found := regexp.MustCompile(pattern), 0
	term.until(pattern, func() bool {
		for i, l := range strings.Split(term.frame(), "\n") {
			if found == 0 && re.MatchString(l) {
				found = i + 1
			}
		}
		return found > 0
	})
	require.Positive(term.t, found)
	return found
}

// mouse sends what a terminal says of its mouse (SGR, 1006): button, column, line.
func (term *terminal) mouse(format string, line int) {
	term.t.Helper()
	term.tmux("send-keys", "-l", "\x1b[<"+fmt.Sprintf(format, line))
}
