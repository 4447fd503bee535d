package chat

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"piton/internal/kernel"
)

// patience is how long both sides wait for all connections.
const patience = time.Minute

// prepareServer accepts a connection from every member and makes the workers.
func (p *process) prepareServer() error {
	var c net.ListenConfig
	c.SetMultipathTCP(false) // on by default in Go, and not what is measured
	l, err := c.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	if err := p.child.Tell(listening{l.Addr().String()}); err != nil {
		return err
	}
	rooms := map[uint16]*[Members]*queue{}
	for _, room := range p.Rooms {
		rooms[uint16(room)] = new([Members]*queue)
	}
	listener := l.(*net.TCPListener)
	deadline := time.Now().Add(patience)
	for range Members * len(p.Rooms) {
		if err := listener.SetDeadline(deadline); err != nil {
			return err
		}
		conn, err := listener.AcceptTCP()
		if err != nil {
			return err
		}
		if err := p.welcome(conn, rooms, deadline); err != nil {
			conn.Close()
			return err
		}
	}
	return nil
}

// welcome reads who is there and makes the member's two workers.
func (p *process) welcome(conn *net.TCPConn, rooms map[uint16]*[Members]*queue, deadline time.Time) error {
	var m message
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, m.bytes()); err != nil {
		return fmt.Errorf("read who connects: %w", err)
	}
	queues := rooms[m.room]
	if queues == nil || m.number != hello || m.speaker >= Members || queues[m.speaker] != nil {
		return fmt.Errorf("a stranger connected")
	}
	queues[m.speaker] = new(queue)
	fd, err := take(conn)
	if err != nil {
		return err
	}
	p.workers = append(p.workers,
		&reader{fd: fd, messages: uint32(p.Messages), queues: queues},
		&writer{fd: fd, messages: uint32(p.Messages), queue: queues[m.speaker]})
	return nil
}

// prepareClient connects every member and makes the workers.
func (p *process) prepareClient() error {
	d := net.Dialer{Timeout: patience}
	d.SetMultipathTCP(false)
	for _, room := range p.Rooms {
		for member := range uint16(Members) {
			conn, err := d.Dial("tcp4", p.Address)
			if err != nil {
				return err
			}
			m := message{room: uint16(room), speaker: member, number: hello}
			if _, err := conn.Write(m.bytes()); err != nil {
				return fmt.Errorf("say who connects: %w", err)
			}
			fd, err := take(conn.(*net.TCPConn))
			if err != nil {
				return err
			}
			p.workers = append(p.workers,
				&listener{fd: fd, room: uint16(room), messages: uint32(p.Messages)},
				&speaker{fd: fd, room: uint16(room), member: member, messages: uint32(p.Messages)})
		}
	}
	return nil
}

// enoughFiles refuses what would fail half way.
func (p *process) enoughFiles() error {
	const others = 20
	most, err := kernel.MaxFiles()
	if need := uint64(Members*len(p.Rooms) + others); err == nil && need > most {
		return fmt.Errorf("%d rooms need %d open files in a process, and the limit is %d (ulimit -n)", len(p.Rooms), need, most)
	}
	return nil
}
