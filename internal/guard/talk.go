package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// What a guard is told and asked, one JSON object a line, each with an answer.
const (
	doArm     = "arm"     // by the one who starts it: what to guard
	doRecord  = "record"  // by the same: a line of the journal
	doStatus  = "status"  // by anybody
	doDismiss = "dismiss" // by anybody: end, and take nothing back
)

type message struct {
	Do     string          `json:"do"`
	Order  *order          `json:"order,omitempty"`
	Record json.RawMessage `json:"record,omitempty"`
}

// order is what a guard is started with.
type order struct {
	Journal string        `json:"journal"`
	User    string        `json:"user"`
	AfterNs time.Duration `json:"after_ns"`
	RTPrio  int           `json:"rtprio"` // the highest of what it guards; 0 = none
	Avoid   string        `json:"avoid"`  // CPUs that real-time tasks may take
}

type answer struct {
	Error   string   `json:"error,omitempty"`
	TooLate bool     `json:"too_late,omitempty"`
	Caveats []string `json:"caveats,omitempty"`
	Status  *Status  `json:"status,omitempty"`
}

// Status is what a guard says of itself.
type Status struct {
	PID     int           `json:"pid"`
	Entry   uint64        `json:"entry"` // 0 while nothing has been begun
	State   State         `json:"state"`
	Command string        `json:"command"` // that made the change
	Left    time.Duration `json:"left_ns"` // until the change is taken back
	Caveats []string      `json:"caveats"`
}

// State is how far the change under guard is.
type State string

// The states.
const (
	Making  State = "being made"
	Waiting State = "waiting" // for a confirmation
	Late    State = "being taken back"
)

// maxLine bounds a line: a plan of some 100,000 threads.
const maxLine = 64 << 20

// talk is one end of a connection.
type talk struct {
	conn net.Conn
	in   *bufio.Reader
}

func newTalk(conn net.Conn) *talk { return &talk{conn, bufio.NewReader(conn)} }

func (t *talk) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = t.conn.Write(append(b, '\n'))
	return err
}

func (t *talk) receive(v any) error {
	var line []byte
	for {
		part, err := t.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return json.Unmarshal(line, v)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case len(line) > maxLine:
			return fmt.Errorf("a line of more than %d bytes", maxLine)
		}
	}
}

// ask sends a message and waits for its answer.
func (t *talk) ask(m message, a *answer) error {
	if err := t.send(m); err != nil {
		return plain(err)
	}
	if err := t.receive(a); err != nil {
		return plain(err)
	}
	switch {
	case a.TooLate:
		return ErrTooLate
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}

// isBroken recognises a connection whose other end is gone.
func isBroken(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
