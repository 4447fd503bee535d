package place

import "piton/internal/kernel"

// NiceZero is the weight of a task at nice 0 (NICE_0_LOAD, kernel/sched/sched.h).
const NiceZero = 1024

// idleWeight is the weight of SCHED_IDLE tasks and of groups with cpu.idle
// (WEIGHT_IDLEPRIO).
const idleWeight = 3

// niceWeights are the weights of nice -20 to 19 (sched_prio_to_weight,
// kernel/sched/core.c).
var niceWeights = [40]float64{
	88761, 71755, 56483, 46273, 36291,
	29154, 23254, 18705, 14949, 11916,
	9548, 7620, 6100, 4904, 3906,
	3121, 2501, 1991, 1586, 1277,
	1024, 820, 655, 526, 423,
	335, 272, 215, 172, 137,
	110, 87, 70, 56, 45,
	36, 29, 23, 18, 15,
}

// Weight is what a task of the fair class weighs against those in its group.
func Weight(policy kernel.Policy, nice int) float64 {
	if policy == kernel.Idle {
		return idleWeight
	}
	return niceWeights[max(-20, min(nice, 19))+20]
}

// A Group is a task group of the kernel: a cgroup with the cpu controller or an
// autogroup. Its tasks compete with those outside as one, by its weight; nil is
// the root group. The same group is the same pointer in all of a Request.
type Group struct {
	Parent *Group
	Weight float64 // on the scale of NiceZero: cpu.weight 100, cpu.shares 1024, autogroup nice 0
}

// UnifiedWeight is the Weight of a cgroup by its cpu.weight.
func UnifiedWeight(cpuWeight int) float64 { return float64(cpuWeight) * NiceZero / 100 }

// depth is how many groups are above g, counting itself.
func (g *Group) depth() int {
	n := 0
	for ; g != nil; g = g.Parent {
		n++
	}
	return n
}
