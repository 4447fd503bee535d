package taskfacts

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func TestReadsThisProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "open")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()

	f := Read(context.Background(), "/", kernel.TID(os.Getpid()))
	exe, err := os.Executable()
	require.NoError(t, err)
	cwd, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, Known[string]{Value: exe}, f.Exe)
	assert.Equal(t, Known[string]{Value: cwd}, f.Cwd)
	assert.Empty(t, f.IO.Why)
	assert.NotZero(t, f.IO.Value.Read)
	assert.Contains(t, f.Files.Value, File{FD: int(file.Fd()), Path: path})
	found := false
	for _, s := range f.Sockets.Value {
		if s.Local == server.Addr().String() {
			found = true
			assert.Equal(t, "tcp "+s.Local+" LISTEN", s.String())
			assert.Equal(t, -1, s.IncomingCPU, "a socket that listens receives no packets")
		}
	}
	assert.True(t, found)
}

func TestWhyAFactIsMissing(t *testing.T) {
	f := Read(context.Background(), "/", 1<<22) // above pid_max's limit, so never there
	assert.Contains(t, f.Exe.Why, "has ended")
	assert.Equal(t, f.Files.Why, f.Sockets.Why)
	assert.Equal(t, needsRead, known(0, fs.ErrPermission, needsRead).Why)
	assert.Contains(t, known(0, errors.New("input/output error"), needsRead).Why, "not readable: input/output")
}

func TestSocketsInWords(t *testing.T) {
	assert.Equal(t, "tcp 10.0.0.1:80 - 10.0.0.7:4711 ESTABLISHED",
		Socket{Kind: "tcp", Local: "10.0.0.1:80", Remote: "10.0.0.7:4711", State: "ESTABLISHED"}.String())
	assert.Equal(t, "unix /run/a", Socket{Kind: "unix", Local: "/run/a"}.String())
	assert.Equal(t, "unix", Socket{Kind: "unix"}.String())
}
