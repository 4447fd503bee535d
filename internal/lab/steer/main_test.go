package steer

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/lab/netns"
)

func TestMain(m *testing.M) { bpftest.Main(m, playSteer) }

// playSteer steers the flows of a process on an interface to a CPU, prints its TID, and
// goes on until standard input ends.
func playSteer(words []string) error {
	index, _ := strconv.Atoi(words[0])
	target, _ := strconv.Atoi(words[1])
	cpus, err := cpuset.Parse(words[2])
	if err != nil {
		return err
	}
	s, err := Open(Options{Interfaces: []int{index}, Policy: Chosen, CPUs: cpus, Targets: []kernel.TID{kernel.TID(target)}})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println(os.Getpid())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// wire is two network namespaces that are joined by interfaces which are like NICs: packets
// come with checksums and in the size in which they are sent.
type wire struct {
	near, far *netns.Namespace
	index     int // of the near interface
}

const (
	nearName = "near"
	farName  = "far"
	// patience ends a test that hangs.
	patience = time.Minute
)

var farAddress = netip.MustParseAddrPort("10.99.0.2:7000")

func newWire(tb testing.TB) wire {
	tb.Helper()
	kerneltest.NeedRoot(tb, "to make network namespaces")
	var w wire
	for _, n := range []**netns.Namespace{&w.near, &w.far} {
		one, err := netns.New()
		require.NoError(tb, err)
		tb.Cleanup(one.Close)
		*n = one
	}
	err := w.near.AddVeth(nearName, w.far, farName)
	if netns.IsNoVeth(err) {
		tb.Skip("this kernel has no veth interfaces: ", err)
	}
	require.NoError(tb, err)
	require.NoError(tb, w.near.SetUp(nearName, netip.MustParsePrefix("10.99.0.1/24")))
	require.NoError(tb, w.far.SetUp(farName, netip.MustParsePrefix("10.99.0.2/24")))
	for _, o := range []netns.Offload{netns.TSO, netns.GSO, netns.TxChecksum} {
		require.NoError(tb, w.far.SetOffload(farName, o, false))
	}
	w.index, err = w.near.InterfaceIndex(nearName)
	require.NoError(tb, err)
	return w
}

// open steers on the near interface, or skips with the reason.
func (w wire) open(tb testing.TB, o Options) *Steering {
	tb.Helper()
	o.Interfaces = []int{w.index}
	s, err := w.tryOpen(o)
	skipIfUnable(tb, err)
	require.NoError(tb, err)
	tb.Cleanup(s.Close)
	return s
}

func (w wire) tryOpen(o Options) (s *Steering, err error) {
	err = w.near.Do(func() (err error) {
		s, err = Open(o)
		return err
	})
	return s, err
}

// skipIfUnable skips where the kernel lacks what every test takes.
func skipIfUnable(tb testing.TB, err error) {
	tb.Helper()
	_, noBTF := os.Stat(object.BTFFile)
	if errors.Is(err, feature.ErrNotSupported) && (noBTF != nil || !kernel.InitialNamespace("pid") || !kernel.InitialNamespace("user") || object.ReleaseBefore(5, 15)) {
		tb.Skip(err)
	}
}

// online are the CPUs there are.
func online(tb testing.TB) cpuset.Set {
	tb.Helper()
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	require.NoError(tb, err)
	set, err := cpuset.Parse(strings.TrimSpace(string(text)))
	require.NoError(tb, err)
	return set
}

// twoCPUs skips where there is one only.
func twoCPUs(tb testing.TB) (a, b cpuset.CPU) {
	tb.Helper()
	mine, err := kernel.System().Affinity(0)
	require.NoError(tb, err)
	cpus := mine.And(online(tb)).CPUs()
	if len(cpus) < 2 {
		tb.Skip("takes two CPUs")
	}
	return cpus[0], cpus[1]
}
