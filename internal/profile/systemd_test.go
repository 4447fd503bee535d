package profile

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
