package why

import "time"

// Brief is an observation in a cell or two of a table.
type Brief struct {
	P99   time.Duration // of the waits; 0 of none
	Blame string        // "cc1", "limit", "mask", …; "" where it hardly waited
	Share float64       // of the waiting
}

// Brief names the verdict's cause, and of neighbours and real-time tasks the command that has most
// of it.
func (o *Observation) Brief() Brief {
	waits := o.Waits()
	b := Brief{P99: waits.Quantile(0.99, o.Longest.Time)}
	if o.Waited == 0 || o.little() {
		return b
	}
	blame := func(name string, part time.Duration) Brief {
		b.Blame, b.Share = name, min(float64(part)/float64(o.Waited), 1)
		return b
	}
	switch {
	case 2*o.Avoidable.Mask >= o.Waited:
		return blame("mask", o.Avoidable.Mask)
	case 2*o.Avoidable.Cpuset >= o.Waited:
		return blame("cpuset", o.Avoidable.Cpuset)
	}
	var causes [Causes]time.Duration
	commands := map[string]time.Duration{}
	most, command := Unknown, ""
	for _, w := range o.By {
		if causes[w.Cause] += w.Time; causes[w.Cause] > causes[most] {
			most = w.Cause
		}
	}
	for _, w := range o.By {
		if w.Cause != most || most != Neighbour && most != RealTime {
			continue
		}
		commands[w.Command] += w.Time
		if d := commands[w.Command]; d > commands[command] || d == commands[command] && w.Command < command {
			command = w.Command
		}
	}
	if command != "" && 2*commands[command] >= causes[most] {
		return blame(command, commands[command])
	}
	if many := several[most]; many != "" && most != Limit {
		return blame(many, causes[most])
	}
	return blame(most.String(), causes[most])
}
