package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
)

func TestNiceStepsStayWithTheirRows(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("f8", "f8", "f8", "down", "f7", "down", "f8", "f7")
		assert.Equal(t, 1, r.tuning.plans)
		r.tickRun()
		assert.Equal(t, []change.Target{{TID: 3641, StartTicks: 36410}}, r.tuning.targets, "however the cursor moves")
		assert.Equal(t, 2, r.tuning.want.NiceBy)
		r.tickRun()
		assert.Equal(t, kernel.TID(3642), r.tuning.targets[0].TID)
		assert.Equal(t, -1, r.tuning.want.NiceBy)
		r.tickRun()
		assert.Equal(t, 3, r.tuning.plans, "the third row's steps come to nothing")
	})
}

func TestNiceStepThatChangesNothingHoldsUpNothing(t *testing.T) {
	for _, status := range []attr.Status{attr.Refused, attr.Unchanged} {
		onSmall(t, func(r *rig) {
			r.tuning.status, r.tuning.reason = status, "needs CAP_SYS_NICE"
			r.press("f7", "down", "f7", "down")
			assert.Equal(t, 2, r.tuning.plans)
			assert.Equal(t, kernel.TID(3642), r.tuning.targets[0].TID)
			r.tickRun()
			assert.Equal(t, 2, r.tuning.plans, "nothing is made up for on another row")
		})
	}
}

func TestChangeOfManyProcessesAsksFirst(t *testing.T) {
	for many, asked := range map[int]bool{5: false, 6: true} {
		onSmall(t, func(r *rig) {
			for range many {
				r.press("space")
			}
			r.press("p")
			assert.Equal(t, asked, strings.Contains(r.text(), fmt.Sprintf("Pin %d tagged rows?", many)), many)
			if !asked {
				assert.Len(t, r.tuning.carried, 1)
				return
			}
			assert.Empty(t, r.tuning.carried)
			r.press("y") // typed on: it opened by itself
			assert.Empty(t, r.tuning.carried)
			r.wait(time.Second)
			r.press("n", "f8")
			assert.Contains(t, r.text(), fmt.Sprintf("Nice %d tagged rows?", many))
			assert.Empty(t, r.tuning.carried)
			r.wait(time.Second)
			r.press("y")
			assert.Len(t, r.tuning.carried, 1)
		})
	}
}
