package users

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// service is a made-up name service with a clock of its own.
type service struct {
	asked []string
	now   time.Time
	takes time.Duration // an answer
	err   error
}

func (s *service) ask(ctx context.Context, key string) ([]byte, error) {
	s.asked = append(s.asked, key)
	s.now = s.now.Add(s.takes)
	if deadline, _ := ctx.Deadline(); time.Until(deadline) > maxWait {
		return nil, errors.New("no bound")
	}
	switch {
	case s.err != nil:
		return nil, s.err
	case key == "61200" || key == "dora":
		return []byte("dora:x:61200:61200::/:/bin/sh"), nil
	}
	return nil, errNobody
}

func made(t *testing.T, passwd string) (*Names, *service) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "etc"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "etc/passwd"), []byte(passwd), 0o644))
	s := &service{now: time.Unix(1000, 0), takes: time.Millisecond}
	n := New(dir)
	n.directory = newDirectory(s.ask, func() time.Time { return s.now })
	return n, s
}

const file = "root:x:0:0::/:/bin/sh\ntoor:x:0:0::/:/bin/sh\nbroken\nballou:x:1000:1000::/:/bin/sh\nballou:x:1001:1001::/:/bin/sh\n"

func TestParseOfAWord(t *testing.T) {
	for word, want := range map[string]uint32{"0": 0, "1001": 1001, "4294967294": 4294967294} {
		uid, number, err := Parse(word)
		require.NoError(t, err, word)
		assert.True(t, number, word)
		assert.Equal(t, want, uid, word)
	}
	for _, word := range []string{"root", "_apt", "5x", "0x10", "john smith", `DOMAIN\eve`, "1_0", "é"} {
		_, number, err := Parse(word)
		require.NoError(t, err, word)
		assert.False(t, number, word)
	}
	for _, word := range []string{"", "+1001", "-1", "01001", "00", " 1001", "1001 ", "\t0", "4294967295", "4294967296", "+root", "-i", "a:b", "a\nb", "a\x00", "root "} {
		_, _, err := Parse(word)
		assert.ErrorContains(t, err, "is not the name or number of a user", "%q", word)
	}
}

func TestNames(t *testing.T) {
	n, s := made(t, file)
	for uid, want := range map[uint32]string{0: "root", 1000: "ballou", 1001: "ballou", 61200: "dora", 61201: "61201"} {
		for range 2 {
			assert.Equal(t, want, n.Name(uid))
		}
	}
	assert.ElementsMatch(t, []string{"61200", "61201"}, s.asked, "each once")
	for name, want := range map[string]uint32{"root": 0, "toor": 0, "ballou": 1000, "dora": 61200} {
		uid, ok, known := n.ID(name)
		assert.True(t, ok && known, name)
		assert.Equal(t, want, uid, name)
	}
	for _, name := range []string{"nobody-here", "-i", "+61200", " 61200", "dora ", "5x", "", "a:b"} {
		_, ok, known := n.ID(name)
		assert.False(t, ok, name)
		assert.True(t, known, name)
	}
	assert.Len(t, s.asked, 4, "dora and nobody-here")

	s.now = s.now.Add(forget)
	assert.Equal(t, "61201", n.Name(61201))
	assert.Equal(t, "dora", n.Name(61200))
	assert.Len(t, s.asked, 5, "who was not there is asked for again later")

	later := time.Now().Add(time.Hour)
	require.NoError(t, os.WriteFile(n.passwd, []byte("eve:x:61201:1::/:/bin/sh\n"), 0o644))
	require.NoError(t, os.Chtimes(n.passwd, later, later))
	assert.Equal(t, "77", n.Name(77), "not there either")
	assert.Equal(t, "eve", n.Name(61201), "the file was read again")
}

// TestSlowDirectory is one that is down: it is waited for a second in a minute, whatever is asked.
func TestSlowDirectory(t *testing.T) {
	n, s := made(t, file)
	s.takes, s.err = maxWait, context.DeadlineExceeded
	for uid := range uint32(50) {
		assert.Equal(t, "61200", n.Name(61200))
		n.Name(70000 + uid)
		_, ok, known := n.ID("dora")
		assert.False(t, ok || known)
	}
	assert.Len(t, s.asked, 1)
	assert.Equal(t, "root", n.Name(0), "the file is known")
	s.now = s.now.Add(period)
	s.takes, s.err = time.Millisecond, nil
	assert.Equal(t, "dora", n.Name(61200), "once it is up")
	uid, ok, known := n.ID("dora")
	assert.True(t, ok && known)
	assert.EqualValues(t, 61200, uid)

	s.takes = 400 * time.Millisecond
	for uid := range uint32(50) {
		n.Name(80000 + uid)
	}
	assert.Len(t, s.asked, 3+3, "answers take time too")
}

func TestRecordedTree(t *testing.T) {
	n := New(t.TempDir())
	assert.Nil(t, n.directory)
	assert.Equal(t, "61200", n.Name(61200))
	_, ok, known := n.ID("dora")
	assert.False(t, ok)
	assert.True(t, known)
	assert.NotNil(t, New("/").directory)
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"root:x:0:0::/:/bin/sh\n", "x", ":y:1:", "a:b:c:d", "bad:x:no:1", "big:x:4294967296:1", "last:x:4294967295:1"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if name, _, ok := parse(line); ok && (name == "" || strings.Contains(name, ":")) {
			t.Fatalf("%q gave %q", line, name)
		}
	})
}

func TestParse(t *testing.T) {
	name, uid, ok := parse([]byte("last:x:4294967295:1"))
	assert.True(t, ok)
	assert.Equal(t, "last", name)
	assert.EqualValues(t, 1<<32-1, uid)
	for _, line := range []string{"broken", "bad:x:no:1", "big:x:4294967296:1", ":x:1:1"} {
		_, _, ok := parse([]byte(line))
		assert.False(t, ok, line)
	}
}
