package activity

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
	"piton/internal/sample"
)

func TestOccupantsAreRanked(t *testing.T) {
	intervals := []sample.RunInterval{
		{CPU: 0, Kind: sample.RunOfTask, TID: 0, Name: "idle", RunNs: 9e9},
		{CPU: 0, Kind: sample.RunOfTask, TID: 7, Name: "piton", RunNs: 8e9},
		{CPU: 0, Kind: sample.RunOfTask, TID: 8, Name: "piton", RunNs: 1e6},
		{CPU: 1, Kind: sample.RunOfTask, TID: 30, Name: "elsewhere", RunNs: 7e9},
		{CPU: 0, Kind: sample.RunOfSoftIRQ, Number: 1, Name: "TIMER", RunNs: 3e6, LongestNs: 5000, Times: 250},
		{CPU: 0, Kind: sample.RunOfIRQ, Number: 40, Name: "virtio0", RunNs: 2e6},
	}
	own := []kernel.TID{7, 8}
	assert.Equal(t, []Occupant{
		{Kind: "softirq", Name: "TIMER", ID: 1, Seconds: 0.003, LongestNs: 5000, Times: 250},
		{Kind: "irq", Name: "virtio0", ID: 40, Seconds: 0.002},
		{Kind: "task", Name: "piton", ID: 8, Seconds: 0.001},
	}, rank(intervals, []int{0}, own))
	assert.Equal(t, "elsewhere", rank(intervals, nil, own)[0].Name)
	for range 20 {
		intervals = append(intervals, sample.RunInterval{Kind: sample.RunOfTask, TID: 99, RunNs: 1})
	}
	assert.Len(t, rank(intervals, nil, own), maxOccupants)
}

func TestOccupantsOfThisMachine(t *testing.T) {
	w := watchCPUs()
	occupants, why := w.occupants(nil)
	assert.True(t, len(occupants) > 0 || why != "", "they are listed, or the reason why not")
}
