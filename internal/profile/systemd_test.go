package profile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
)

func TestUnitOf(t *testing.T) {
	for cgroup, want := range map[string]string{
		"/system.slice/a.service":                                     "a.service",
		"/system.slice/a.service/sub":                                 "a.service",
		"/system.slice/a.service/b.service":                           "a.service",
		"/system.slice/a.service (deleted)":                           "a.service",
		"/system.slice/-o.service":                                    "",
		"/system.slice/..service":                                     "",
		"/system.slice/$(x).service":                                  "",
		"/system.slice/a b.service":                                   "",
		"/system.slice/it's.service":                                  "",
		"/x/a.service":                                                "",
		"/user.slice/user-7.slice/user@7.service/app.slice/b.service": "b.service of a user",
		"/user.slice/user-7.slice/user@7.service/init.scope":          "",
		"/system.slice/a\r.service":                                   "",
		"/system.slice/a\x1b[2J.service":                              "",
		"/system.slice/a\xff.service":                                 "",
		"/":                                                           "",
		"":                                                            "",
	} {
		unit, user, err := unitOf(cgroup)
		if want == "" {
			require.ErrorIs(t, err, ErrNoUnit, "%q", cgroup)
			assert.Equal(t, comment(err.Error()), err.Error(), "it can be printed")
			assert.NotContains(t, err.Error(), " : ", "a name is missing")
			continue
		}
		require.NoError(t, err)
		if user {
			unit += " of a user"
		}
		assert.Equal(t, want, unit)
	}
}

// TestSystemdComment: the command of the comment can be copied into a shell.
func TestSystemdComment(t *testing.T) {
	for unit, word := range map[string]string{
		"web@1.service": "web@1.service", "a:b_c-d.service": "a:b_c-d.service",
		`openvpn@my\x2dvpn.service`: `'openvpn@my\x2dvpn.service'`,
	} {
		d, err := Systemd(UnitSettings{Comm: "x", Cgroup: "/system.slice/" + unit, Nice: 1})
		require.NoError(t, err)
		assert.Equal(t, unit, d.Unit)
		assert.False(t, d.User)
		assert.Contains(t, string(d.Text), " && systemctl restart "+word+"\n")
	}
}

// TestPlaceDeadline: the times of a DEADLINE task are not known on a recorded machine,
// and it is no ordinary one.
func TestPlaceDeadline(t *testing.T) {
	m := machine()
	m.process(100, "x", "", "/system.slice/x.service").Policy = kernel.Deadline
	p, err := SettingsOf(m.State, 100, "")
	require.NoError(t, err)
	assert.Equal(t, kernel.Deadline, p.Policy.Policy)
	m.Value = func(attr.Attribute, kernel.TID) (attr.Value, error) {
		return attr.PolicyValue{Policy: kernel.Deadline, Runtime: 1, Deadline: 2, Period: 3}, nil
	}
	p, err = SettingsOf(m.State, 100, "")
	require.NoError(t, err)
	assert.EqualValues(t, 1, p.Policy.Runtime)
}

// TestNothingIsHidden is that names which others chose turn nothing around in a file.
func TestNothingIsHidden(t *testing.T) {
	assert.Equal(t, "a???b", comment("a\u202e\u2066\u2028b"))
	assert.Equal(t, `"a\u202E\u2028\U000E0041é"`, quote("a\u202e\u2028\U000e0041é"))
}

// TestGroupIsExported: a unit's own group only, in systemd's words.
func TestGroupIsExported(t *testing.T) {
	m := machine()
	m.process(100, "x", "", "/system.slice/x.service")
	group, weight, quota := "/system.slice/x.service", "idle", "20% period 50ms burst 5ms"
	m.Group = func(_ kernel.TID, s attr.Setting) (c change.Change) {
		c.Name = "cgroup " + group
		c.Before, _ = s.Attribute.Parse(map[attr.Attribute]string{attr.Weight: weight, attr.Quota: quota}[s.Attribute])
		return c
	}
	text := func() string {
		p, err := SettingsOf(m.State, 100, "")
		require.NoError(t, err)
		p.Nice = 1
		d, err := Systemd(p)
		require.NoError(t, err)
		_, after, _ := strings.Cut(string(d.Text), "Nice=1\n")
		return after
	}
	assert.Equal(t, "CPUWeight=idle\nCPUQuota=20%\nCPUQuotaPeriodSec=50ms\n# burst 5ms: systemd has no setting for it\n", text())
	weight, quota = "250", "33.3% period 100ms"
	assert.Equal(t, "CPUWeight=250\nCPUQuota=33.3%\n", text())
	weight, quota = "0.2", "none period 100ms"
	assert.Equal(t, "# weight 0.2 of version 1: cpu.weight takes whole numbers from 1 to 10000, not 0.2\n", text())
	weight = "100"
	assert.Empty(t, text())
	group, weight = "/system.slice/x.service/sub", "5"
	assert.Empty(t, text(), "the weight of a group inside the unit's")
}
