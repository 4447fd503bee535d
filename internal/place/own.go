package place

// attribute finds how much of each CPU's load was the targets' own, and takes it
// off: all of them are about to be placed, or to be ignored, so none of it need stay
// where it is.
//
// Only where a task was last is known, and one that bounces did its work
// elsewhere too: no more of it is put on a CPU than the other tasks there leave
// unexplained, and the rest goes where there is such time.
func (b *board) attribute(targets []Target) {
	free := make([]float64, len(b.slots))
	rest, room := 0.0, 0.0
	known := 0
	for i := range b.slots {
		known += len(b.slots[i].load.Rivals)
	}
	rivals := make([]Rival, known)
	for t := range targets {
		rest += targets[t].Share[-1]
	}
	for i := range b.slots {
		s := &b.slots[i]
		share := 0.0
		for t := range targets {
			share += targets[t].Share[s.cpu.ID]
		}
		n := len(s.load.Rivals)
		s.rivals, rivals = rivals[:0:n], rivals[n:]
		s.own = min(share, max(0, s.load.Busy-s.keepOthers(targets)))
		free[i] = max(0, s.load.Busy-s.own-s.usedByOthers())
		rest += share - s.own
		room += free[i]
	}
	for i := range b.slots {
		if room > 0 {
			b.slots[i].own += free[i] * min(1, rest/room)
		}
		b.slots[i].leave()
	}
}

// keepOthers sets the rivals to the tasks of the CPU that are no target's, and
// returns what they used.
func (s *slot) keepOthers(targets []Target) float64 {
	for _, r := range s.load.Rivals {
		if !ofAny(targets, &r) {
			s.rivals = append(s.rivals, r)
		}
	}
	return s.usedByOthers()
}

func ofAny(targets []Target, r *Rival) bool {
	for t := range targets {
		if id := targets[t].TID; id != 0 && (id == r.TID || id == r.Process) {
			return true
		}
	}
	return false
}

func (s *slot) usedByOthers() float64 { return usedBy(s.rivals) }

func usedBy(rivals []Rival) float64 {
	used := 0.0
	for i := range rivals {
		used += rivals[i].Used
	}
	return used
}

// leave computes what the others leave of the CPU: the time that fair tasks can
// have, what they used of it, and what of that no rival explains.
func (s *slot) leave() {
	unseen := max(0, s.own-usedBy(s.load.Rivals)+s.usedByOthers()) // own work that no rival of the CPU did
	s.busy = max(0, min(1, s.load.Busy-s.own*(1+ownError)))
	lost, waited := s.load.IRQ+s.load.Steal, 0.0
	fair := s.rivals[:0]
	for _, r := range s.rivals {
		if r.Used == 0 && s.load.Busy < 1-idleBelow {
			continue // nobody waits for all of the time where the CPU is idle for some of it
		}
		waited += r.Queued - r.Used
		if r.RealTime {
			lost += r.Used
		} else {
			fair = append(fair, r)
		}
	}
	s.demand = s.busy + waited
	s.rivals = fair
	s.avail = max(0, 1-lost)
	all := max(0, min(s.load.Busy-s.own-lost, s.avail)) // that the others of the fair class used here
	used := s.usedByOthers()
	if used > all { // some of it was done on other CPUs
		for i := range fair {
			r := &fair[i]
			less := r.Used * (1 - all/used)
			r.Used, r.Queued = r.Used-less, r.Queued-less
		}
		used = all
	}
	s.rest = max(0, all-used-ownError*s.own)
	s.weighRest(s.load.Rest - unseen)
}

// weighRest says what the time weighs that no rival explains: that of tasks that
// have ended or moved on, and of threads without a row. They are taken to be one
// at a time, at nice 0 in the root group, unless the run queue's own average
// shows that more are queued, or that those at nice > 0 weigh less. load is that
// average, less the targets' part.
func (s *slot) weighRest(load float64) {
	s.restWeight = NiceZero
	if s.rest <= idleBelow {
		return
	}
	niced := min(1, s.load.RestNiced/s.rest)
	least := (1-niced)*NiceZero + niced*Weight(0, 19)
	s.restWeight = max(least, NiceZero*load/s.rest)
}
