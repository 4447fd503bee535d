package auto

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/topology/topologytest"
)

// settings are files of the kernel.
type settings map[string]string

func (s settings) ReadSetting(path string) (string, error) {
	if text, ok := s[path]; ok {
		return text, nil
	}
	return "", fs.ErrNotExist
}

func (settings) Lacks(string, fs.FileMode) bool { return false }

func TestSystem(t *testing.T) {
	all := settings{numaBalancing: "0\n", llcBalancing: "1\n", baseSlice: "2800000\n"}
	tried := System(all, topologytest.Sized(64))
	assert.Equal(t, []string{"numa_balancing on", "llc_balancing off", "base slice 700µs", "base slice 11.2ms"}, names(tried))
	for _, c := range tried {
		assert.NotEmpty(t, c.Reason)
		assert.Len(t, c.requests(nil, "")[0].Files, 1)
	}
	small := System(all, topologytest.Sized(2))
	assert.Equal(t, []string{"numa_balancing", "llc_balancing", "base slice 700µs", "base slice 11.2ms"}, names(small))
	assert.Equal(t, Candidate{Name: "llc_balancing", Reason: "there is one cache"}, small[1])
	for _, c := range System(settings{}, topologytest.Sized(64)) {
		assert.Contains(t, c.Reason, "cannot be read", "an older kernel has no %s", c.Name)
		assert.Empty(t, c.Files)
	}
}
