package benchcmd

import (
	"context"
	"fmt"
	"time"

	"piton/internal/bench"
	"piton/internal/cli/app"
	"piton/internal/paper"
)

// ScreenPapers runs published studies for the results pane.
type ScreenPapers struct{ App *app.App }

// Run runs them until they end or ctx does. remark says what was resumed.
func (s ScreenPapers) Run(ctx context.Context, chosen []paper.Paper, budget time.Duration, on func(paper.Progress)) (g bench.Grid, all []bench.Results, remark string, err error) {
	p, err := newPapers(s.App, chosen, budget, on)
	if err != nil {
		return bench.Grid{}, nil, "", err
	}
	defer p.unhold()
	run, err := p.start(ctx, false, func(format string, args ...any) { remark = fmt.Sprintf(format, args...) })
	if err == nil {
		err = run.Finish(ctx)
	}
	if run == nil {
		return bench.Grid{}, nil, remark, err
	}
	if run.KeepErr != nil {
		remark = "results not stored: " + run.KeepErr.Error()
	}
	return run.Grid, run.Results, remark, err
}
