package app

import (
	"os"
	"regexp"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	platform := []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}}
	git := append(platform[:2:2], debug.BuildSetting{Key: "vcs.revision", Value: "bf768d09a66ea80d3883d65800752d8b0635f230"},
		debug.BuildSetting{Key: "vcs.time", Value: "2026-11-23T08:42:58Z"})
	modified := append(git[:4:4], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for _, tc := range []struct {
		name, module string
		settings     []debug.BuildSetting
		want         string
	}{
		{"a tag", "v9.8.7", git, "9.8.7 (commit bf768d09a66e of 2026-11-23)"},
		{"a tag, modified", "v9.8.7+dirty", modified, "9.8.7 (commit bf768d09a66e of 2026-11-23, modified)"},
		{"after a tag", "v9.8.8-0.20261123085417-bf768d09a66e", git, release + " (commit bf768d09a66e of 2026-11-23)"},
		{"no tag", "v0.0.0-20261123085417-bf768d09a66e", git, release + " (commit bf768d09a66e of 2026-11-23)"},
		{"no git", "(devel)", platform, release},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: tc.module}, Settings: tc.settings}
		assert.Equal(t, tc.want+" go1.26.8 linux/arm64", describe(info), tc.name)
	}
}

// TestReleaseIsTheNewestEntry of the changelog.
func TestReleaseIsTheNewestEntry(t *testing.T) {
	changes, err := os.ReadFile("../../../CHANGELOG.md")
	require.NoError(t, err)
	newest := regexp.MustCompile(`(?m)^## (\S+)`).FindSubmatch(changes)
	require.NotNil(t, newest)
	assert.Equal(t, release, string(newest[1]))
}
