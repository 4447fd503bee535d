package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/tui/screen"
)

// orderVerb makes piton carry out one change that another piton asks for: the child of
// sudo. It reads a change.Order on its standard input and answers with a change.Reply.
const orderVerb = "__order"

// largestOrder bounds what is read.
const largestOrder = 16 << 20

// runOrder is the main function of such a child.
func runOrder(a *app.App, _ []string) int {
	reply, err := json.Marshal(change.NewReply(applyOrder(context.Background(), a)))
	if err := output.WriteJSON(a, reply, err); err != nil {
		a.Warn("%s", exit.Message(err))
		return exit.Failed
	}
	return exit.Done
}

func applyOrder(ctx context.Context, a *app.App) (change.Outcome, error) {
	if err := a.SetUp(false); err != nil {
		return change.Outcome{}, err
	}
	var order change.Order
	data, err := io.ReadAll(io.LimitReader(a.In, largestOrder))
	if err == nil {
		err = json.Unmarshal(data, &order)
	}
	if err == nil {
		err = order.Check()
	}
	if err != nil {
		return change.Outcome{}, fmt.Errorf("read the order: %w", err)
	}
	for _, id := range order.Keep {
		err = errors.Join(err, a.Guards().Keep(id))
	}
	if len(order.Keep) > 0 {
		return change.Outcome{}, err
	}
	open := a.Journal
	if order.Undo != nil {
		open = a.JournalToRead
	}
	j, err := open()
	if err != nil {
		return change.Outcome{}, err
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	deps := action.Deps{Tuner: a.TunerWith(j)}
	p, err := deps.Plan(ctx, action.Request{Order: order})
	if err != nil {
		return change.Outcome{}, err
	}
	return deps.Apply(ctx, p.Plan, order.Confirmation)
}

// elevate makes a change through sudo, which asks for the password on the terminal.
func elevate(a *app.App, sudo, self string) func(change.Order, func(change.Outcome, error) tea.Msg) tea.Cmd {
	return func(o change.Order, done func(change.Outcome, error) tea.Msg) tea.Cmd {
		order, err := json.Marshal(o)
		if err != nil {
			return func() tea.Msg { return done(change.Outcome{}, err) }
		}
		var out bytes.Buffer
		c := exec.Command(sudo, self, orderVerb)
		c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(order), &out, a.Err
		return screen.Exec(c, func(err error) tea.Msg {
			var reply change.Reply
			if jsonErr := json.Unmarshal(out.Bytes(), &reply); err == nil && jsonErr != nil {
				err = fmt.Errorf("sudo's child gave no answer: %w", jsonErr)
			}
			return done(reply.Outcome, errors.Join(err, reply.Err()))
		})
	}
}
