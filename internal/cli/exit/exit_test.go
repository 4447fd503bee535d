package exit

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/feature"
)

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{Usagef("x"), 2},
		{fmt.Errorf("y: %w", Usagef("x")), 2},
		{attr.UsageError("x"), 2},
		{With(3, nil), 3},
		{With(126, errors.New("x")), 126},
		{change.ErrNotLive, 4},
		{fmt.Errorf("y: %w", feature.ErrNotSupported), 4},
		{fmt.Errorf("y: %w", attr.ErrNotPermitted), 4},
		{fmt.Errorf("open: %w", syscall.EACCES), 4},
		{context.Canceled, 130},
		{fmt.Errorf("write: %w", syscall.EPIPE), 0},
	} {
		assert.Equal(t, tt.want, Code(tt.err), "%v", tt.err)
	}
}
