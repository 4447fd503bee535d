package irq

import (
	"fmt"
	"strconv"
	"strings"
)

// Flow is what passes through a device's queue.
type Flow uint8

// The flows. QueueIO is a disk's.
const (
	NoQueue Flow = iota
	QueueRx
	QueueTx
	QueueRxTx
	QueueIO
)

// String is the word that tables and JSON use; "" for NoQueue.
func (f Flow) String() string {
	return [...]string{NoQueue: "", QueueRx: "rx", QueueTx: "tx", QueueRxTx: "rxtx", QueueIO: "io"}[f]
}

// Receives reports whether packets come in through such a queue.
func (f Flow) Receives() bool { return f == QueueRx || f == QueueRxTx }

// Sends reports whether packets go out through such a queue.
func (f Flow) Sends() bool { return f == QueueTx || f == QueueRxTx }

// Queue is the queue of a device that raises an interrupt.
type Queue struct {
	Flow  Flow
	Index int
}

// String is "rx 3", or "" for none.
func (q Queue) String() string {
	if q.Flow == NoQueue {
		return ""
	}
	return fmt.Sprintf("%s %d", q.Flow, q.Index)
}

// queueOf is the queue that the first handler of a line is named after.
func queueOf(actions []string) Queue {
	for _, a := range actions {
		if q := ParseQueue(a); q.Flow != NoQueue {
			return q
		}
	}
	return Queue{}
}

// flows are the words that drivers put before a queue's number in the name of
// its handler: virtio "virtio2-input.0", Intel "eth0-TxRx-3", "iavf-eth0-TxRx-1",
// "eth0-rx-0", Mellanox "mlx5_comp3@pci:0000:3b:00.0", Amazon "eth0-Tx-Rx-2",
// NVMe "nvme0q3", gve "gve-ntfy-blk2@pci:…" (shared by both directions).
var flows = []struct {
	word string
	flow Flow
}{
	{"txrx", QueueRxTx}, {"tx-rx", QueueRxTx}, {"rxtx", QueueRxTx}, {"rx-tx", QueueRxTx}, {"comp", QueueRxTx},
	{"input", QueueRx}, {"rx", QueueRx}, {"output", QueueTx}, {"tx", QueueTx}, {"req", QueueIO}, {"request", QueueIO},
}

// ParseQueue reads the queue from the name of a handler.
func ParseQueue(action string) Queue {
	name, _, _ := strings.Cut(strings.ToLower(action), "@")
	stem := strings.TrimRight(name, "0123456789")
	index, err := strconv.Atoi(name[len(stem):])
	if err != nil || index < 0 {
		return Queue{}
	}
	if disk, ok := strings.CutSuffix(stem, "q"); ok && isNVMe(disk) {
		if index == 0 { // the admin queue
			return Queue{}
		}
		return Queue{QueueIO, index}
	}
	stem = strings.TrimRight(stem, "-._")
	for _, f := range flows {
		if before, ok := strings.CutSuffix(stem, f.word); ok && (before == "" || strings.ContainsRune("-._", rune(before[len(before)-1]))) {
			return Queue{f.flow, index}
		}
	}
	return Queue{}
}

// isNVMe reports whether name is "nvme" and a number.
func isNVMe(name string) bool {
	digits, ok := strings.CutPrefix(name, "nvme")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
