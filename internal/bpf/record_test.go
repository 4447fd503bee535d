package bpf

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAdjustCPUTime(t *testing.T) {
	tests := []struct {
		name                                      string
		user, system, cpu, shownUser, shownSystem uint64
		wantUser, wantSystem                      uint64
	}{
		{"nothing yet", 0, 0, 0, 0, 0, 0, 0},
		{"no tick found it", 0, 0, 500, 0, 0, 500, 0},
		{"user only", 10, 0, 700, 0, 0, 700, 0},
		{"system only", 0, 10, 700, 0, 0, 0, 700},
		{"in proportion", 30, 10, 4000, 0, 0, 3000, 1000},
		{"shown is ahead of the clock", 30, 10, 4000, 3500, 600, 3500, 600},
		{"system never falls", 30, 10, 4100, 2900, 1100, 3000, 1100},
		{"user never falls", 10, 30, 4100, 3000, 1000, 3000, 1100},
		{"years of many CPUs", math.MaxUint64 / 2, math.MaxUint64 / 2, math.MaxUint64 - 1, 0, 0, math.MaxUint64/2 + 0, math.MaxUint64 / 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			user, system := AdjustCPUTime(test.user, test.system, test.cpu, test.shownUser, test.shownSystem)
			assert.Equal(t, test.wantUser, user, "user")
			assert.Equal(t, test.wantSystem, system, "system")
		})
	}
}
