package tui

import (
	"context"
	"errors"

	"piton/internal/tui/screen"
)

// Run shows the screen until the user quits or ctx ends. A benchmark that still
// runs then is ended, a change under way is waited for, and what was not said to
// keep is reverted. The error is screen.Run's: nil when the user quit.
func Run(ctx context.Context, d Deps, o screen.Options) error {
	d.Meter = &screen.Meter{}
	o.Meter = d.Meter
	m := New(d)
	defer m.bench.Stop()
	o.Filter = MouseFilter()
	_, err := screen.Run(ctx, m, o)
	return errors.Join(err, m.finish(), m.revertUnkept())
}
