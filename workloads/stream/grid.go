package stream

import (
	"context"
	"fmt"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Cell is one measurement of a grid.
type Cell struct {
	FromCPU    int  `json:"from_cpu"` // -1: from all CPUs of the node
	FromNode   int  `json:"from_node"`
	MemoryNode int  `json:"memory_node"`
	Distance   int  `json:"distance"` // by the firmware, 10 is local, 0 unknown
	Ops        []Op `json:"ops"`
}

// Triad is the median bandwidth of the last loop.
func (c Cell) Triad() float64 { return Result{Ops: c.Ops}.Triad() }

// origin is where a cell is measured from.
type origin struct {
	cpu, node int
	cpus      cpuset.Set
	distances map[int]int
}

func (r *Result) runGrid(ctx context.Context) error {
	allowed, err := r.Scheduler.Affinity(kernel.Calling)
	if err != nil {
		return fmt.Errorf("find the CPUs to measure from: %w", err)
	}
	for _, from := range r.origins(allowed) {
		for _, to := range r.Nodes {
			if !to.Memory {
				continue
			}
			ops, err := r.measure(ctx, from.cpus, to.ID)
			if err != nil {
				return fmt.Errorf("from CPUs %s to the memory of node %d: %w", from.cpus, to.ID, err)
			}
			r.Cells = append(r.Cells, Cell{
				FromCPU: from.cpu, FromNode: from.node, MemoryNode: to.ID, Distance: from.distances[to.ID], Ops: ops,
			})
		}
	}
	if len(r.Cells) == 0 {
		return fmt.Errorf("there is no node with memory and none of the CPUs %s is on a node", allowed)
	}
	r.Ops = mean(r.Cells)
	fit := newFit(r.Cells)
	r.Fit = &fit
	return nil
}

// origins lists from where to measure: CPUs that the process may use.
func (r *Result) origins(allowed cpuset.Set) []origin {
	var out []origin
	for _, n := range r.Nodes {
		cpus := n.CPUs.And(allowed)
		if cpus.Empty() {
			continue
		}
		if r.Grid == Nodes {
			out = append(out, origin{-1, n.ID, cpus, n.Distances})
			continue
		}
		for cpu := range cpus.All() {
			out = append(out, origin{int(cpu), n.ID, cpuset.Of(cpu), n.Distances})
		}
	}
	return out
}

func mean(cells []Cell) []Op {
	ops := slices.Clone(cells[0].Ops)
	for _, c := range cells[1:] {
		for i, op := range c.Ops {
			ops[i].BestMBs += op.BestMBs
			ops[i].MedianMBs += op.MedianMBs
			ops[i].WorstMBs += op.WorstMBs
		}
	}
	for i := range ops {
		ops[i].BestMBs /= float64(len(cells))
		ops[i].MedianMBs /= float64(len(cells))
		ops[i].WorstMBs /= float64(len(cells))
	}
	return ops
}
