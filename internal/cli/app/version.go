package app

import (
	"runtime/debug"
	"strings"

	"piton/internal/pattern"
)

// release is the newest entry of CHANGELOG.md. A build of a commit with a tag has its
// version from git; others, and those without git, are builds of this release.
const release = "0.2.0"

// released is a version that is a tag; go build gives commits after it a pseudo-version.
var released = pattern.Lazy(`^v(\d+\.\d+\.\d+)(\+dirty)?$`)

// Version is piton's release, the commit it was built from if that is known, and the Go
// version and platform.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	return describe(info)
}

// describe reads what go build stamped (go help buildvcs).
func describe(info *debug.BuildInfo) string {
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	version := release
	if tag := released().FindStringSubmatch(info.Main.Version); tag != nil {
		version = tag[1]
	}
	if rev := setting["vcs.revision"]; rev != "" {
		day, _, _ := strings.Cut(setting["vcs.time"], "T")
		version += " (commit " + rev[:min(12, len(rev))] + " of " + day
		if setting["vcs.modified"] == "true" {
			version += ", modified"
		}
		version += ")"
	}
	return version + " " + info.GoVersion + " " + setting["GOOS"] + "/" + setting["GOARCH"]
}
