package profilecmd

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSystemOnly(t *testing.T) {
	for dir, want := range map[string]bool{
		"/etc/systemd/system": true, "/etc/systemd/system/": true, "/run/systemd/../systemd/system/x": true, "/usr/lib/systemd/system": true,
		"/etc/systemd/user": false, "/etc/systemd/system2": false, "/etc/systemd": false, "x": false,
	} {
		assert.Equal(t, want, systemOnly(dir), dir)
	}
}
