package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
)

func TestCompareRelease(t *testing.T) {
	for _, tt := range []struct {
		release string
		order   int
		known   bool
	}{
		{"6.9.3-generic", -1, true}, {"6.12.0", 0, true}, {"6.12+deb13-cloud-amd64", 0, true}, {"6.13", 1, true}, {"7.3.4", 1, true}, {"5.15.0", -1, true},
		{"unknown", 0, false}, {"", 0, false}, {"7", 0, false},
	} {
		order, known := kernel.CompareRelease(tt.release, 6, 12)
		assert.Equal(t, tt.known, known, tt.release)
		assert.Equal(t, tt.order, order, tt.release)
	}
}
