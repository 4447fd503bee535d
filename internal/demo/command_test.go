package demo

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// htopColumns is what the usual columns of htop 3.2.2 take before Command: at 80, 100, 120,
// 160 and 200 columns that has 15, 35, 55, 95 and 135 cells, measured in tmux 3.3a with
// PIDs of up to five digits.
const htopColumns = 65

// TestCommandsAreReadAsInHtop: of the same 40 processes at least as many characters of the
// commands are on the screen as htop's layout would have, and COMMAND has a third of the
// width.
func TestCommandsAreReadAsInHtop(t *testing.T) {
	const processes = 40
	for _, width := range []int{80, 100, 120, 160, 200} {
		fly(t, 16, width, 70, func(p *pilot) {
			p.tick(20)
			lines := strings.Split(p.text(), "\n")
			heading := 0
			for !strings.Contains(lines[heading], "COMMAND") {
				heading++
			}
			before, _, _ := strings.Cut(lines[heading], "COMMAND")
			at := utf8.RuneCountInString(before)
			assert.GreaterOrEqual(t, width-at, (width+2)/3, "%d columns", width)

			read, htop := 0, 0
			for _, line := range lines[heading+1 : heading+1+processes] {
				cells := []rune(line)
				command := p.commandOf(line)
				if command == "" { // a task may have neither
					continue
				}
				read += utf8.RuneCountInString(strings.ReplaceAll(strings.TrimRight(string(cells[min(at, len(cells)):]), " "), "…", ""))
				htop += min(utf8.RuneCountInString(command), width-htopColumns)
			}
			t.Logf("%d columns: COMMAND %d cells, htop %d; %d characters, htop %d", width, width-at, width-htopColumns, read, htop)
			assert.GreaterOrEqual(t, read, htop, "%d columns", width)
		})
	}
}

// commandOf is the command line of the process that a line of the list is about; "" if it has none.
func (p *pilot) commandOf(line string) string {
	pid, _, _ := strings.Cut(strings.TrimLeft(line, " ▌"), " ")
	tid, err := strconv.Atoi(pid)
	require.NoError(p.t, err, line)
	return p.machine.byTID[kernel.TID(tid)].ID.Cmdline
}
