package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tunaOptions are the commands of tuna 0.19 with their options, as its --help has
// them. "" is what comes before the command.
var tunaOptions = map[string]string{
	"": "-h -v -L -D", "isolate": "-c -S -N", "include": "-c -S -N", "move": "-c -S -N -t -q", "spread": "-c -S -N -t -q",
	"priority": "-t -C", "run": "-c -S -N -p -b", "save": "-c -S -N -t", "apply": "", "show_threads": "-c -N -S -t -q -U -K -C -G -z",
	"show_irqs": "-c -N -S -q", "show_configs": "", "what_is": "", "gui": "-d -R -c -N -S -U -K",
}

// tunaRows are the lines of the table, in cells.
func tunaRows(t *testing.T) [][]string {
	t.Helper()
	text, err := Page("tuna", false)
	require.NoError(t, err)
	var rows [][]string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| tuna |") {
			rows = append(rows, strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | "))
		}
	}
	return rows
}

func TestTunaTableIsComplete(t *testing.T) {
	var left []string
	for _, row := range tunaRows(t) {
		left = append(left, " "+strings.Trim(row[0], " `")+" ")
	}
	for command, options := range tunaOptions {
		wanted := strings.Fields(options)
		if len(wanted) == 0 {
			wanted = []string{""}
		}
		for _, option := range wanted {
			words := strings.TrimSpace("tuna " + command)
			found := false
			for _, cell := range left {
				found = found || strings.HasPrefix(cell, " "+words+" ") && strings.Contains(cell, strings.TrimRight(" "+option+" ", " ")+" ")
			}
			assert.True(t, found, "%s %s", words, option)
		}
	}
}

// code are the spans of code in a cell.
var code = regexp.MustCompile("`(piton[^`]*)`")

func TestTunaTableParses(t *testing.T) {
	n := 0
	for _, row := range tunaRows(t) {
		require.GreaterOrEqual(t, len(row), 2, "%q", row)
		for _, found := range code.FindAllStringSubmatch(strings.Join(row[1:], " "), -1) {
			n++
			assert.NoError(t, parses(found[1]), found[1])
		}
	}
	assert.Greater(t, n, len(tunaOptions), "the table has command lines")
}
