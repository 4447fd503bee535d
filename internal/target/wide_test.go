package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/sample"
)

// machine has piton (9) below a shell (8), sshd (7) and init (1), two kernel threads
// and five processes of users: nginx three times, and postgres, redis.
func machine() []*sample.Task {
	process := func(pid, parent kernel.TID, comm, user string) *sample.Task {
		t := &sample.Task{TID: pid, TGID: pid, PPID: parent, ID: &sample.Identity{Comm: comm, User: user, Cgroup: "/" + user}}
		if pid == 2 || parent == 2 {
			t.Flags = sample.FlagKernelThread
		}
		return t
	}
	return []*sample.Task{
		process(1, 0, "init", "root"), process(7, 1, "sshd", "root"), process(8, 7, "sh", "root"), process(9, 8, "piton", "root"),
		process(2, 0, "kthreadd", "root"), process(3, 2, "kworker/0:1", "root"),
		process(20, 1, "nginx", "www"), process(21, 20, "nginx", "www"), process(22, 20, "nginx", "www"),
		process(30, 1, "postgres", "db"), process(40, 1, "redis", "db"),
		{TID: 41, TGID: 40, ID: &sample.Identity{Comm: "bio_close", User: "db", Cgroup: "/db"}},
	}
}

func TestWide(t *testing.T) {
	for _, tt := range []struct {
		words []string
		wide  string // "" if it is not
	}{
		{[]string{"*"}, "7 of the 7 processes"},
		{[]string{"/./"}, "7 of the 7 processes"},
		{[]string{"thread:/./"}, "7 of the 7 processes"},
		{[]string{"[nprk]*"}, "7 of the 7 processes"},
		{[]string{"cgroup:/"}, "5 of the 7 processes"},
		{[]string{"user:www", "user:db"}, "5 of the 7 processes"},
		{[]string{"user:www", "redis"}, ""}, // one of them by its name
		{[]string{"[np]*"}, "4 of the 7 processes"},
		{[]string{"[nr]edis*", "ngin?"}, "4 of the 7 processes"},
		{[]string{"/x$|^p/"}, "4 of the 7 processes"},
		{[]string{"nginx*"}, ""},    // one name
		{[]string{"user:www"}, ""},  // one name
		{[]string{"user:db"}, ""},   // less than half
		{[]string{"user:root"}, ""}, // piton's own ancestors
		{[]string{"k*"}, ""},
		{[]string{"[pr]*", "k*"}, "4 of the 7 processes"},
		{[]string{"nginx", "postgres", "redis", "20", "3"}, ""}, // by name and number
		{[]string{"nosuch*"}, ""},
		{nil, ""},
	} {
		var exprs []Expr
		for _, word := range tt.words {
			e, err := Parse(word)
			require.NoError(t, err)
			exprs = append(exprs, e)
		}
		b, wide := Wide(exprs, machine(), 9)
		assert.Equal(t, tt.wide != "", wide, "%v: %s", tt.words, b)
		if wide {
			assert.Equal(t, tt.wide, b.String(), "%v", tt.words)
		}
	}
}

// TestWideCountsUsers has so many kernel threads that users' processes are few.
func TestWideCountsUsers(t *testing.T) {
	all := machine()
	for tid := range kernel.TID(50) {
		all = append(all, &sample.Task{TID: 100 + tid, TGID: 100 + tid, PPID: 2, Flags: sample.FlagKernelThread, ID: &sample.Identity{Comm: "kworker"}})
	}
	e, err := Parse("[npr]*")
	require.NoError(t, err)
	b, wide := Wide([]Expr{e}, all, 9)
	assert.True(t, wide)
	assert.Equal(t, "5 of the 5 processes that are no kernel threads", b.String())
	_, wide = Wide([]Expr{e}, nil, 9)
	assert.False(t, wide, "on no machine")
}
