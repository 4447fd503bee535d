package chat

// The four loops that the threads run. None has a point at which Go's scheduler
// could take the thread away (go:nosplit, GODEBUG=asyncpreemptoff=1): Go would
// give every one of hundreds of threads another turn every 10 ms.

// speaker is a client's thread that says a member's messages.
type speaker struct {
	fd           int
	room, member uint16
	messages     uint32
	m            message
}

//go:nosplit
func (s *speaker) run() trouble {
	for n := range s.messages {
		s.m.write(s.room, s.member, n)
		if t := send(s.fd, &s.m); !t.ok() {
			return t
		}
	}
	return trouble{}
}

// listener is a client's thread that hears everybody in the room, and checks
// that each speaker's messages come whole and in order.
type listener struct {
	fd       int
	room     uint16
	messages uint32
	next     [Members]uint32
	heard    uint64
	sum      uint64
	m        message
}

//go:nosplit
func (l *listener) run() trouble {
	for l.heard < Members*uint64(l.messages) {
		if t := receive(l.fd, &l.m); !t.ok() {
			return t
		}
		m := &l.m
		if m.room != l.room || m.speaker >= Members || m.number != l.next[m.speaker] || m.number >= l.messages || !m.right() {
			return trouble{wrong: true}
		}
		l.next[m.speaker]++
		l.heard++
		l.sum += hash(m.key())
	}
	return trouble{}
}

// reader is a server's thread that takes a member's messages to all in the room.
type reader struct {
	fd       int
	messages uint32
	queues   *[Members]*queue
	m        message
}

//go:nosplit
func (r *reader) run() trouble {
	for range r.messages {
		if t := receive(r.fd, &r.m); !t.ok() {
			return t
		}
		for _, q := range r.queues {
			q.push(&r.m)
		}
	}
	return trouble{}
}

// writer is a server's thread that tells a member what is in its queue.
type writer struct {
	fd       int
	messages uint32
	queue    *queue
	m        message
}

//go:nosplit
func (w *writer) run() trouble {
	for range Members * uint64(w.messages) {
		w.queue.pop(&w.m)
		if t := send(w.fd, &w.m); !t.ok() {
			return t
		}
	}
	return trouble{}
}
