package bpf

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRunQueues(t *testing.T) {
	records := []cpuRecord{
		{pass: 7, clockNs: 1000, running: 2, loadAvg: 900, rtAvg: 10, dlAvg: 20, irqAvg: 30, switches: 5},
		{pass: 6, clockNs: 9999, running: 3}, // not seen in this walk: offline by now
		{pass: 7, clockNs: 400},
	}
	queues := runQueues(nil, records, 7)
	assert.Equal(t, []RunQueue{
		{OK: true, Running: 2, LoadAvg: 900, RTUtil: 10, DLUtil: 20, IRQUtil: 30, Switches: 5},
		{},
		{OK: true, Age: 600},
	}, queues)
	assert.InDelta(t, 960, queues[0].Load(), 0.001)
}

func TestLoadDecaysOnIdleCPUs(t *testing.T) {
	idle := RunQueue{OK: true, LoadAvg: 1000, Age: 2 * halfLife}
	assert.InDelta(t, 250, idle.Load(), 0.001)
	busy := RunQueue{OK: true, LoadAvg: 1000, Running: 1, Age: time.Minute}
	assert.InDelta(t, 1000, busy.Load(), 0.001, "a tick without update, not an idle CPU")
}
