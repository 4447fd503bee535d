package steer

import (
	"os"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/lab/netns"
)

func TestAnotherProgramIsInTheWay(t *testing.T) {
	w := newWire(t)
	other, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "firewall", Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}})
	require.NoError(t, err)
	defer other.Close()
	var held link.Link
	require.NoError(t, w.near.Do(func() (err error) {
		held, err = link.AttachXDP(link.XDPOptions{Program: other, Interface: w.index})
		return err
	}))
	_, err = w.tryOpen(Options{Interfaces: []int{w.index}, Policy: Current, CPUs: online(t)})
	require.ErrorIs(t, err, feature.ErrNotSupported)
	assert.Regexp(t, `^steering of packets by eBPF: near has another XDP program already: firewall \(program \d+\)$`, err.Error())
	require.NoError(t, held.Close())
	w.open(t, Options{Policy: Current, CPUs: online(t)})
	_, err = w.tryOpen(Options{Interfaces: []int{w.index}, Policy: Current, CPUs: online(t)})
	assert.ErrorContains(t, err, "steer_packet", "piton's own counts too")
}

func TestNativeIsLeftWhereItWouldLosePackets(t *testing.T) {
	a, b := twoCPUs(t)
	w := newWire(t)
	require.NoError(t, w.far.SetOffload(farName, netns.TxChecksum, true))
	o := Options{Interfaces: []int{w.index}, Policy: Current, CPUs: online(t), Mode: Native}
	_, err := w.tryOpen(o)
	require.ErrorIs(t, err, feature.ErrNotSupported)
	require.ErrorContains(t, err, "the other end of near, far, leaves out checksums")

	e := w.start(t)
	s := w.open(t, Options{Policy: Current, CPUs: online(t), Targets: []kernel.TID{e.consumer}})
	require.Len(t, s.Interfaces, 1)
	assert.Equal(t, Generic, s.Interfaces[0].Mode)
	assert.Contains(t, s.Interfaces[0].Why, "ethtool -K far tx off")
	assert.GreaterOrEqual(t, e.share(a, b), 0.98, "packets arrive, and where they should")

	// With whole checksums the driver is good enough.
	require.NoError(t, w.far.SetOffload(farName, netns.TxChecksum, false))
	s.Close()
	require.Equal(t, Native, w.open(t, Options{Policy: Current, CPUs: online(t)}).Interfaces[0].Mode)
}

func TestInterfaceIsGone(t *testing.T) {
	w := newWire(t)
	_, err := w.tryOpen(Options{Interfaces: []int{w.index + 1000}, Policy: Current, CPUs: online(t)})
	require.ErrorIs(t, err, netns.ErrGone)
	require.EqualError(t, err, "steering of packets: interface "+strconv.Itoa(w.index+1000)+": it is not there")

	s := w.open(t, Options{Policy: Current, CPUs: online(t)})
	_, err = s.Stats()
	require.NoError(t, err)
	w.far.Close() // its interface goes with it, and so does the other end
	require.Eventually(t, func() bool {
		_, err = s.Stats()
		return err != nil
	}, patience, patience/1000)
	require.EqualError(t, err, "steering of packets: near: it is not there")
	s.Close()
	_, err = s.Stats()
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestAsksThatMakeNoSense(t *testing.T) {
	_, err := Open(Options{Policy: Current, CPUs: cpuset.Of(0)})
	require.EqualError(t, err, "steering of packets: no interface is given")
	_, err = Open(Options{Interfaces: []int{1}, Policy: Current})
	require.EqualError(t, err, "steering of packets: no CPU is given")
}
