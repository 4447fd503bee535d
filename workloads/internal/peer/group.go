package peer

import (
	"cmp"

	"piton/internal/kernel"
)

// Group is the processes of one run, which begin and end together.
type Group []*Process

// Go waits until all are ready and lets them begin.
func (g Group) Go() error {
	for _, p := range g {
		if err := p.ExpectReady(); err != nil {
			return err
		}
	}
	for _, p := range g {
		if err := p.Say("go"); err != nil {
			return err
		}
	}
	return nil
}

// End lets them go, waits for all of them, and tells what each used. The error is
// the first one's.
func (g Group) End(tell func(i int, used kernel.Usage)) error {
	for _, p := range g {
		p.Release()
	}
	var failure error
	for i, p := range g {
		used, err := p.Wait()
		failure = cmp.Or(failure, err)
		tell(i, used)
	}
	return failure
}
