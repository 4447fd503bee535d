package procfs

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const containerHex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestUnitOf is that systemd's unit is meant, whatever others make below it.
func TestUnitOf(t *testing.T) {
	const manager = "/user.slice/user-1000.slice/user@1000.service"
	for cgroup, want := range map[string]string{
		"": "", "/": "", "/system.slice": "", "/user.slice/user-1000.slice": "",
		"/system.slice/nginx.service":                         "nginx.service",
		"/system.slice/nginx.service/worker":                  "nginx.service",
		"/system.slice/nginx.service (deleted)":               "nginx.service",
		"/system.slice/system-getty.slice/getty@tty1.service": "getty@tty1.service",
		"/init.scope": "init.scope",
		"/user.slice/user-1000.slice/session-3.scope": "session-3.scope",
		manager:                    "user@1000.service",
		manager + "/init.scope":    "user@1000.service of init.scope",
		manager + "/nginx.service": "user@1000.service of nginx.service",
		manager + "/app.slice/nginx.service/sshd.service":                           "user@1000.service of nginx.service",
		manager + "/x/nginx.service":                                                "user@1000.service",
		"/system.slice/web.service/nginx.service":                                   "web.service",
		"/system.slice/web.service/user@0.service/a.service":                        "web.service",
		"/docker/" + containerHex + "/system.slice/cron.service":                    "",
		"/system.slice/docker-" + containerHex + ".scope/system.slice/cron.service": "docker-" + containerHex + ".scope",
		"/system.slice/_cpu.service":                                                "cpu.service",
		"/_system.slice/a.service":                                                  "a.service",
		`/system.slice/a\x2db.service`:                                              `a\x2db.service`,
		"/system.slice/-o.service":                                                  "-o.service",
		"/system.slice/..service":                                                   "..service",
		"/system.slice/$(x).service":                                                "",
		"/system.slice/a b.service":                                                 "",
		"/system.slice/a\x1b.service":                                               "",
		"/system.slice/é.service":                                                   "",
		"/system.slice/.service":                                                    "",
		"/system.slice/@a.service":                                                  "",
		"/system.slice/a@.service":                                                  "",
		"/system.slice/a.Service":                                                   "",
		"/a@b.slice/a.service":                                                      "",
		"/user.slice/user@x.service/a.service":                                      "user@x.service",
		"/user.slice/user@07.service/a.service":                                     "user@07.service",
		"/system.slice/" + strings.Repeat("a", 248) + ".service":                    "",
	} {
		unit, user := UnitOf(cgroup)
		if user != "" {
			unit += " of " + user
		}
		assert.Equal(t, want, unit, cgroup)
	}
	assert.Equal(t, []string{"user.slice", "user-1000.slice"}, slices.Collect(Slices(manager+"/app.slice")))
	assert.Empty(t, slices.Collect(Slices("/docker/system.slice")))
}

func TestOwnerOf(t *testing.T) {
	const manager = "/user.slice/user-1000.slice/user@1000.service"
	for cgroup, want := range map[string]string{
		"": "", "/": "/", "/a/b": "b", "/user.slice": "user.slice",
		"/system.slice/nginx.service":                                                   "nginx.service",
		"/system.slice/nginx.service (deleted)":                                         "nginx.service",
		`/system.slice/a\x2db.service/sub`:                                              "a-b.service",
		manager:                                                                         "user@1000.service",
		manager + "/app.slice":                                                          "user@1000.service",
		manager + `/app.slice/app-a\x2db-7.scope/sub`:                                   "1000/app-a-b-7.scope",
		manager + "/nginx.service":                                                      "1000/nginx.service",
		"/system.slice/docker-" + containerHex + ".scope":                               "docker:0123456789ab",
		"/system.slice/docker-" + containerHex + ".scope (deleted)":                     "docker:0123456789ab",
		"/docker/" + containerHex:                                                       "0123456789ab",
		"/docker/" + containerHex + "/init":                                             "0123456789ab",
		"/docker/" + containerHex + "/docker-" + strings.Repeat("f", 64):                "0123456789ab",
		"/kubepods.slice/kubepods-podx.slice/cri-containerd-" + containerHex + ".scope": "cri-containerd:0123456789ab",
		"/kubepods-burstable-pod11112222_3333.slice:cri-containerd:" + containerHex:     "cri-containerd:0123456789ab",
		"/system.slice/containerd.service/kubepods-besteffort-pod1.slice:cri-containerd:" + containerHex:                         "cri-containerd:0123456789ab",
		"/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" + containerHex:                                                "0123456789ab",
		"/kubepods.slice/kubepods-burstable-pod0123456789abcdef0123456789abcdef.slice/crio-" + containerHex + ".scope/container": "crio:0123456789ab",
		"/kubepods.slice/kubepods-podx.slice/crio-conmon-" + containerHex + ".scope":                                             "crio-conmon:0123456789ab",
		"/kubepods/besteffort/podx/crio-" + containerHex:                                                                         "crio:0123456789ab",
		"/machine.slice/libpod-" + containerHex + ".scope/container":                                                             "libpod:0123456789ab",
		"/machine.slice/libpod-conmon-" + containerHex + ".scope":                                                                "libpod-conmon:0123456789ab",
		manager + "/user.slice/libpod-" + containerHex + ".scope/container":                                                      "1000/libpod:0123456789ab",
		"/libpod_parent/libpod-" + containerHex:                                                                                  "libpod:0123456789ab",
		"/lxc.payload.web/system.slice/cron.service":                                                                             "lxc:web",
		"/lxc/web/init": "lxc:web",
		"/system.slice/run-r0123456789abcdef0123456789abcdef.scope": "run-r0123456789abcdef0123456789abcdef.scope",
	} {
		assert.Equal(t, want, OwnerOf(cgroup), cgroup)
	}
}

// TestMainOfHybrid is Docker on a machine with both versions, where the unified hierarchy
// has its daemon only.
func TestMainOfHybrid(t *testing.T) {
	groups, err := ParseCgroup([]byte("12:cpuset:/docker/" + containerHex + "\n4:cpu,cpuacct:/docker/" + containerHex +
		"\n1:name=systemd:/docker/" + containerHex + "\n0::/system.slice/containerd.service\n"))
	assert.NoError(t, err)
	assert.Equal(t, "/docker/"+containerHex, groups.Main())
	groups, err = ParseCgroup([]byte("12:cpuset:/\n1:name=systemd:/system.slice/nginx.service\n0::/system.slice/nginx.service\n"))
	assert.NoError(t, err)
	assert.Equal(t, "/system.slice/nginx.service", groups.Main())
}

func FuzzUnitOf(f *testing.F) {
	f.Add("/user.slice/user-1000.slice/user@1000.service/a.service/b")
	f.Add("/system.slice/containerd.service/x.slice:cri-containerd:" + containerHex + " (deleted)")
	f.Fuzz(func(t *testing.T, cgroup string) {
		unit, user := UnitOf(cgroup)
		for _, name := range []string{unit, user} {
			if name != "" && (!isUnit(name) || !strings.Contains(cgroup, name)) {
				t.Fatalf("%q gave %q", cgroup, name)
			}
		}
		if OwnerOf(cgroup) == "" && cgroup != "" {
			t.Fatalf("%q has no owner", cgroup)
		}
	})
}
