package cli

import (
	"slices"
	"strings"

	"piton/internal/irq"
)

// limit makes --cpus a term of the filter.
func (o *monitorOptions) limit(a *app) error {
	if o.cpus == "" {
		return nil
	}
	set, err := a.cpus("--cpus", o.cpus)
	if err != nil {
		return err
	}
	o.filter = strings.TrimSpace(o.filter + " allowed~" + set.String())
	return nil
}

// linesOn leaves only the lines that are asked to go to one of the CPUs; those
// without a number belong to no list of CPUs.
func (a *app) linesOn(cpus string, t *irq.Table) error {
	if cpus == "" {
		return nil
	}
	set, err := a.cpus("--cpus", cpus)
	if err != nil {
		return err
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(r irq.Row) bool { return r.Requested.And(set).Empty() })
	t.Named, t.SoftIRQs = nil, nil
	return nil
}
