package changes

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/exit"
)

// TestExitCodeOfChanges is the end of a run by what became of its changes.
func TestExitCodeOfChanges(t *testing.T) {
	of := func(s attr.Status, err error) change.Change { return change.Change{Status: s, Err: err} }
	for _, tt := range []struct {
		changes []change.Change
		want    int
	}{
		{nil, 0},
		{[]change.Change{of(attr.Done, nil), of(attr.Unchanged, nil)}, 0},
		{[]change.Change{of(attr.Done, nil), of(attr.Failed, nil)}, 3},
		{[]change.Change{of(attr.Refused, nil), of(attr.Failed, nil)}, 1},
		{[]change.Change{of(attr.Failed, attr.ErrNotPermitted)}, 4},
	} {
		assert.Equal(t, tt.want, exit.Code(Error(change.Outcome{Changes: tt.changes})), "%v", tt.changes)
	}
	for _, tt := range []struct {
		did  attr.Status
		err  error
		want int
	}{
		{attr.Done, change.ErrTooLate, 3}, // it was changed, and 1 and 4 say that nothing was
		{attr.Done, fmt.Errorf("journal: %w", syscall.EACCES), 3},
		{attr.Done, context.Canceled, 130},
		{attr.Refused, change.ErrTooLate, 1},
		{attr.Failed, nil, 1},
	} {
		assert.Equal(t, tt.want, exit.Code(End(change.Outcome{Changes: []change.Change{of(tt.did, nil)}}, tt.err)), "%v", tt)
	}
}
