package attr

// table is every attribute. Those of tasks are made in the order of the list: the
// CPU first and the policy last, so that a task which becomes real-time does so on
// its new CPU and not on the old one.
var (
	table map[Attribute]*spec
	order []Attribute
)

func init() { // the specs refer to the table
	table = map[Attribute]*spec{}
	for _, a := range []struct {
		Attribute
		*spec
	}{
		{Affinity, &affinity},
		{Memory, &memory},
		{Nice, &nice},
		{Autogroup, &autogroup},
		{Slice, &slice},
		{Clamp, &clamp},
		{IOPrio, &ioprio},
		{CoreCookie, &cookie},
		{Policy, &policy},
		{Weight, &weight},
		{Quota, &quota},
		{IRQAffinity, &irqAffinity},
		{DefaultIRQAffinity, &defaultIRQAffinity},
		{WorkqueueMask, &workqueueMask},
		{RPSCPUs, &rpsCPUs},
		{XPSCPUs, &xpsCPUs},
		{RPSFlows, &rpsFlows},
		{RFSEntries, &rfsEntries},
		{Sysctl, &sysctl},
		{SchedDebug, &schedDebug},
	} {
		table[a.Attribute], order = a.spec, append(order, a.Attribute)
	}
}

// All returns every attribute, those of tasks in the order in which they are made.
func All() []Attribute { return order }
