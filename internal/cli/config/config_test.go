package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/tui"
	"piton/internal/tui/proctable"
)

var settings = tui.Saved{Columns: []string{"pid", "command"}, Sort: "pid", Interval: 2 * time.Second, Panel: "folded",
	Meters: []string{"load", "psi"}}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "piton", "config.toml")
	f, got, _, err := Open(path)
	require.NoError(t, err)
	assert.Equal(t, tui.Saved{}, got)
	require.NoError(t, f.Save(settings))
	_, got, _, err = Open(path)
	require.NoError(t, err)
	assert.Equal(t, settings, got)

	settings := settings
	settings.Columns, settings.Sort = nil, ""
	require.NoError(t, f.Save(settings), "a second time")
	_, got, _, err = Open(path)
	require.NoError(t, err)
	assert.Equal(t, settings, got, "what was taken back is gone")
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "no temporary file stays")
}

const users = `# how I like it
columns = [
  "pid", # first
  "command",
]
delay = '5s' # slow line

# colours
[theme]
name = "light" # the projector
accent = "#5fafff"

[keys]
"affinity.set" = ["a", "ctrl+a"]
view.next = "tab"

[of_a_newer_piton]
sort = 1
`

func TestEverythingIsRead(t *testing.T) {
	s, notes, err := parse([]byte(users))
	require.NoError(t, err)
	assert.Equal(t, []string{`unknown setting "of_a_newer_piton"`}, notes)
	assert.Equal(t, []string{"pid", "command"}, s.Columns)
	assert.Equal(t, 5*time.Second, s.Interval)
	assert.Equal(t, "light", s.Theme.Name)
	assert.Len(t, s.Theme.Colors, 1)
	assert.Equal(t, map[string][]string{"affinity.set": {"a", "ctrl+a"}, "view.next": {"tab"}}, s.Keys)
}

func TestWrongEntriesLeaveTheOthers(t *testing.T) {
	for text, want := range map[string]string{
		`colums = ["pid"]`:          `unknown setting "colums"`,
		`columns = ["pid", "pidd"]`: `columns: unknown column "pidd"`,
		`columns = ["pid", "PID"]`:  `columns: "PID" is listed twice`,
		`columns = "pid"`:           `columns: not a list of strings, ["a", "b"]`,
		`sort = 5`:                  `sort: not a quoted string`,
		`sort = "cpuu"`:             `sort: unknown column "cpuu"`,
		`delay = "soon"`:            `delay: time: invalid duration "soon"`,
		"[theme]\nname = \"pink\"":  `theme: unknown theme "pink": dark, light, terminal, high-contrast, mono are known`,
		"[theme]\nacent = \"1\"":    `theme: unknown colour "acent": accent, bad, both, dim, good, selected, tagged, warn are known`,
		"[theme]\naccent = 5":       `theme: accent: not a quoted string`,
		"[theme]\naccent = \"#12\"": `theme: accent = "#12" is no colour: use "#rrggbb" or a number from 0 to 255`,
		"[keys]\na.b = 5":           `keys: a.b: not a list of strings, ["a", "b"]`,
		`keys = 1`:                  `keys: not a table, [keys]`,
	} {
		s, notes, err := parse([]byte("core_panel = \"folded\"\n" + text))
		require.NoError(t, err, text)
		assert.Equal(t, []string{want}, notes, text)
		assert.Equal(t, "folded", s.Panel, text)
	}
}

func TestWritingKeepsTheUsersText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(path, []byte(users), 0o600))
	f, _, notes, err := Open(path)
	require.NoError(t, err)
	assert.Equal(t, []string{path + `: unknown setting "of_a_newer_piton"`}, notes)
	require.NoError(t, f.Save(settings))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	_, tail, _ := strings.Cut(users, "delay = '5s'")
	tail = strings.Replace(tail, "# slow line\n", "# slow line\nsort = 'pid'\ncore_panel = 'folded'\nmeters = ['load', 'psi']\n", 1)
	assert.Equal(t, "# how I like it\ncolumns = ['pid', 'command']\ndelay = '2s'"+tail, string(data))
}

const layouts = `sort = "-cpu_percent"

# for the disks
[layouts.disk] # mine
# wide names
columns = ["pid", "user:12", "command"]
sort = "write_bytes_per_s"

[layouts.bad]
columns = ["pid", "pidd"]

[layouts.io]
view = "groups"
`

func TestLayouts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(path, []byte(layouts), 0o600))
	f, s, notes, err := Open(path)
	require.NoError(t, err)
	assert.Equal(t, []string{path + `: layouts.bad: columns: unknown column "pidd"`}, notes)
	disk := proctable.Layout{Name: "disk", Columns: []string{"pid", "user:12", "command"}, Sort: "write_bytes_per_s"}
	bad := proctable.Layout{Name: "bad", Columns: []string{"pid"}}
	assert.Equal(t, []proctable.Layout{bad, disk, {Name: "io", View: "groups"}}, s.Layouts, "the rest of it applies")

	disk.Sort, disk.Filter = "", "cpu>5"
	s.Layouts = []proctable.Layout{bad, disk, {Name: "new", Sort: "-pid"}}
	require.NoError(t, f.Save(s))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	want := strings.Replace(layouts, "sort = \"write_bytes_per_s\"\n", "filter = 'cpu>5'\n", 1)
	want = strings.Replace(want, "[layouts.io]\nview = \"groups\"\n", "\n[layouts.new]\nsort = '-pid'\n", 1)
	want = strings.Replace(want, `["pid", "user:12", "command"]`, `['pid', 'user:12', 'command']`, 1)
	want = strings.Replace(want, `"-cpu_percent"`, `'-cpu_percent'`, 1)
	assert.Equal(t, want, string(data), "what was not changed stays as it is written")
	_, again, _, err := Open(path)
	require.NoError(t, err)
	assert.Equal(t, s, again)

	s.Layouts = nil
	require.NoError(t, os.WriteFile(path, []byte("layouts = { io = { sort = 'pid' } }"), 0o600))
	f, _, _, err = Open(path)
	require.NoError(t, err)
	assert.ErrorContains(t, f.Save(s), "layouts.io is no table [layouts.io]: it has to be removed by hand")
}

func TestWrongLayouts(t *testing.T) {
	for text, want := range map[string]string{
		"layouts = 1":                           "layouts: not tables, [layouts.NAME]",
		"layouts.io = 1":                        "layouts.io: not a table, [layouts.NAME]",
		"[layouts.main]":                        "layouts.main: main is built in: F2 changes its columns",
		"[layouts.'a b']":                       "layouts.a b: a name has 1 to 16 letters, digits, - or _",
		"[layouts.io]\ncolumns = ['user:1']":    `layouts.io: columns: column "user:1": a width is 2 to 200 cells`,
		"[layouts.io]\ncolumns = ['a', 1]":      `layouts.io: columns: not a list of strings, ["a", "b"]`,
		"[layouts.io]\nsort = 'pidd'":           `layouts.io: sort: unknown column "pidd"`,
		"[layouts.io]\nview = 'forest'":         `layouts.io: view: "forest" is none of list, tree, groups`,
		"[layouts.io]\nfilter = 'cpu>'":         "layouts.io: filter: ",
		"[layouts.io]\ncolour = 'red'":          `layouts.io: unknown setting "colour"`,
		"[layouts.io]\ncolumns = ['pid','pid']": `layouts.io: columns: "pid" is listed twice`,
	} {
		s, notes, err := parse([]byte("core_panel = 'folded'\n" + text + "\n[layouts.good]\nsort = 'pid'"))
		if text == "layouts = 1" {
			s, notes, err = parse([]byte("core_panel = 'folded'\n" + text))
		}
		require.NoError(t, err, text)
		require.Len(t, notes, 1, text)
		assert.Contains(t, notes[0], want)
		assert.Equal(t, "folded", s.Panel, text)
		if text != "layouts = 1" {
			assert.Contains(t, s.Layouts, proctable.Layout{Name: "good", Sort: "pid"})
		}
	}
}

func TestHandEditIsNotWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	f, _, _, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, f.Save(settings))
	const edited = `sort = "user"`
	require.NoError(t, os.WriteFile(path, []byte(edited), 0o644))
	assert.ErrorContains(t, f.Save(settings), "changed by somebody else")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, edited, string(data))
}

func TestBrokenFileIsSaidAndKept(t *testing.T) {
	for _, text := range []string{"{", "sort = 'pid'\nsort = 'user'", "[theme"} {
		path := filepath.Join(t.TempDir(), "config.toml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		f, got, _, err := Open(path)
		require.ErrorContains(t, err, "line ", text)
		assert.Equal(t, tui.Saved{}, got)
		require.Error(t, f.Save(settings), "it is not written over")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(data))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(users))
	f.Add([]byte(layouts))
	f.Add([]byte("delay = '-1x'\r\nsort = \"\"\"pid\"\"\"\ntheme.name = 'mono' # x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before, _, err := parse(data)
		if err != nil {
			return
		}
		settings := settings
		settings.Layouts = before.Layouts
		merged, err := merge(data, settings)
		require.NoError(t, err)
		after, _, err := parse(merged)
		require.NoError(t, err, "%q", merged)
		want := settings
		want.Theme, want.Keys = before.Theme, before.Keys
		assert.Equal(t, want, after)
	})
}
