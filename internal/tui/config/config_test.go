package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/tui"
)

var settings = tui.Saved{Columns: []string{"pid", "command"}, Sort: "pid", Interval: 2 * time.Second, Panel: "folded",
	Meters: []string{"load", "psi"}}

func TestPath(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/piton/config.json"},
		{map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/piton/config.json"},
		{map[string]string{"HOME": "/h"}, "/h/.config/piton/config.json"},
		{nil, ""},
	} {
		assert.Equal(t, tt.want, Path(func(k string) string { return tt.env[k] }))
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "piton", "config.json")
	f, got, err := Open(path)
	require.NoError(t, err)
	assert.Equal(t, tui.Saved{}, got)
	require.NoError(t, f.Save(settings))
	_, got, err = Open(path)
	require.NoError(t, err)
	assert.Equal(t, settings, got)

	settings := settings
	settings.Columns, settings.Sort = nil, ""
	require.NoError(t, f.Save(settings), "a second time")
	_, got, err = Open(path)
	require.NoError(t, err)
	assert.Equal(t, settings, got, "what was taken back is gone")
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "no temporary file stays")
}

func TestUnknownEntriesStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"sort":"pid","of_a_newer_piton":{"a":[1]}}`), 0o644))
	f, _, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, f.Save(settings))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"of_a_newer_piton"`)
}

func TestHandEditIsNotWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	f, _, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, f.Save(settings))
	const edited = `{"sort":"user"}`
	require.NoError(t, os.WriteFile(path, []byte(edited), 0o644))
	assert.ErrorContains(t, f.Save(settings), "changed by somebody else")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, edited, string(data))
}

func TestBrokenFileIsSaidAndKept(t *testing.T) {
	for _, text := range []string{"{", "[]", `{"delay":"soon"}`, `{"sort":5}`} {
		path := filepath.Join(t.TempDir(), "config.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		f, got, err := Open(path)
		require.Error(t, err, text)
		assert.Equal(t, tui.Saved{}, got)
		require.Error(t, f.Save(settings), "it is not written over")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(data))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"columns":["pid"],"delay":"1s"}`))
	f.Add([]byte(`{"delay":"-1x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parse(data)
		if err != nil {
			return
		}
		merged, err := merge(data, s)
		if err != nil {
			return
		}
		again, err := parse(merged)
		require.NoError(t, err)
		assert.Equal(t, s, again)
	})
}
