package app

import (
	"runtime/debug"
	"strings"
)

// Version is piton's own, from the module and the commit it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	if rev := setting["vcs.revision"]; len(rev) >= 12 && !strings.Contains(v, rev[:12]) {
		v += " " + rev[:12]
	}
	if setting["vcs.modified"] == "true" && !strings.Contains(v, "dirty") {
		v += "+dirty"
	}
	return v + " " + info.GoVersion + " " + setting["GOOS"] + "/" + setting["GOARCH"]
}
