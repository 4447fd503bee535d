package chat

import "unsafe"

// message is what a member says: room, speaker and number, then words that
// follow from those three. It is one read and one write of a socket.
type message struct {
	room, speaker uint16
	number        uint32
	words         [(MessageBytes - 8) / 4]uint32
}

// Both sides run on one machine, so its byte order does.
var _ [MessageBytes]byte = [unsafe.Sizeof(message{})]byte{}

// hello is the number of the message that a client begins a connection with.
const hello = ^uint32(0)

// key is one number for what a message is.
//
//go:nosplit
func (m *message) key() uint64 { return uint64(m.room)<<48 | uint64(m.speaker)<<32 | uint64(m.number) }

// hash spreads a key over 64 bits (the finalizer of MurmurHash3).
//
//go:nosplit
func hash(k uint64) uint64 {
	k++
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}

// write fills the message in.
//
//go:nosplit
func (m *message) write(room, speaker uint16, number uint32) {
	m.room, m.speaker, m.number = room, speaker, number
	word := uint32(hash(m.key()))
	for i := range m.words {
		m.words[i] = word
		word = word*1664525 + 1013904223
	}
}

// right reports whether the words are those of room, speaker and number.
//
//go:nosplit
func (m *message) right() bool {
	word := uint32(hash(m.key()))
	var wrong uint32
	for i := range m.words {
		wrong |= m.words[i] ^ word
		word = word*1664525 + 1013904223
	}
	return wrong == 0
}

// bytes is the message as it goes over the wire.
func (m *message) bytes() []byte { return (*[MessageBytes]byte)(unsafe.Pointer(m))[:] }

// expected is how many messages are heard when every member says so many in each
// room, and the sum of their hashes.
func expected(rooms, messages int) (heard, sum uint64) {
	for room := range rooms {
		for speaker := range Members {
			for number := range messages {
				m := message{room: uint16(room), speaker: uint16(speaker), number: uint32(number)}
				sum += Members * hash(m.key())
			}
		}
	}
	return uint64(rooms) * Members * Members * uint64(messages), sum
}
