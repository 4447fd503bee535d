package watchcmd

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUnitOf(t *testing.T) {
	for path, want := range map[string]string{
		"/": "", "": "",
		"/system.slice/nginx.service":                                            "nginx.service",
		"/user.slice/user-1000.slice/session-3.scope":                            "session-3.scope",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/code.scope":     "code.scope",
		"/system.slice/docker-0123.scope/init":                                   "docker-0123.scope",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/x.service/pods": "x.service",
	} {
		assert.Equal(t, want, unitOf(path), path)
	}
}
