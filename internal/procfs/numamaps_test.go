package procfs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseNumaMaps(t *testing.T) {
	maps, err := ParseNumaMaps([]byte(`00400000 default file=/usr/bin/a\040b mapped=3 N0=2 N1=1 kernelpagesize_kB=4
7f0000000000 bind:1 anon=512 dirty=512 N1=1 kernelpagesize_kB=2048
7ffe00000000 default
`))
	require.NoError(t, err)
	assert.Equal(t, []NumaMap{
		{Start: 0x400000, Policy: "default", Pages: []NodePages{{0, 2}, {1, 1}}, PageKB: 4},
		{Start: 0x7f0000000000, Policy: "bind:1", Pages: []NodePages{{1, 1}}, PageKB: 2048},
		{Start: 0x7ffe00000000, Policy: "default"},
	}, maps)
	for _, bad := range []string{"x default\n", "00400000\n", "00400000 default N0=x\n", "00400000 default Nx=1\n", "00400000 default kernelpagesize_kB=\n"} {
		_, err := ParseNumaMaps([]byte(bad))
		assert.Error(t, err, bad)
	}
}

func FuzzParseNumaMaps(f *testing.F) {
	f.Add([]byte("7f3c8000 default file=/lib/x.so mapped=3 N0=2 N1=1 kernelpagesize_kB=4\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		maps, err := ParseNumaMaps(b)
		if err == nil {
			for _, m := range maps {
				assert.NotEmpty(t, m.Policy)
			}
		}
	})
}

func TestNumaMapsOfSelf(t *testing.T) {
	maps, err := New("/").NumaMaps(1)
	if err != nil {
		t.Skip("no rights or no NUMA: ", err)
	}
	assert.NotEmpty(t, maps)
}
