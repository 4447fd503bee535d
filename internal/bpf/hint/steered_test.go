package hint

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/bpf/steer"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/netns"
)

// steered asks for replies over a pair of interfaces that are like NICs, of which one is
// steered by hints, and reads each on another CPU.
func steered() error {
	var ends [2]*netns.Namespace
	for i := range ends {
		var err error
		if ends[i], err = netns.New(); err != nil {
			return err
		}
	}
	near, far := ends[0], ends[1]
	result := exchanged{}
	if err := near.AddVeth("near", far, "far"); netns.IsNoVeth(err) {
		result.Skip = "this kernel has no veth interfaces"
		return json.NewEncoder(os.Stdout).Encode(result)
	} else if err != nil {
		return err
	}
	err := errors.Join(near.SetUp("near", netip.MustParsePrefix("10.98.0.1/24")), far.SetUp("far", netip.MustParsePrefix("10.98.0.2/24")),
		far.SetOffload("far", netns.TSO, false), far.SetOffload("far", netns.GSO, false), far.SetOffload("far", netns.TxChecksum, false))
	if err != nil {
		return err
	}
	allowed, err := kernel.System().Affinity(0)
	if err != nil {
		return err
	}
	cpus := allowed.CPUs()
	index, err := near.InterfaceIndex("near")
	if err != nil {
		return err
	}
	var s *steer.Steering
	err = near.Do(func() (err error) {
		s, err = steer.Open(steer.Options{Interfaces: []int{index}, Policy: steer.Hint, CPUs: allowed})
		return err
	})
	if err != nil {
		return err
	}
	defer s.Close()
	client, server, err := netns.ConnectTCP(near, far, netip.MustParseAddrPort("10.98.0.2:7000"), 20*time.Second)
	if err != nil {
		return err
	}
	go serveReplies(server)
	err = kernel.OnThread(func() error {
		buffer := make([]byte, replyBytes)
		for round := range rounds * 5 {
			if err := kernel.System().SetAffinity(0, cpuset.Of(cpus[round%len(cpus)])); err != nil {
				return err
			}
			if _, err := client.Write([]byte{1}); err != nil {
				return err
			}
			for got := 0; got < replyBytes; {
				n, err := client.Read(buffer[got:])
				if err != nil {
					return err
				}
				handled, mine, errno := kernel.DeliveryCPUs(int(client.Fd()))
				if errno != 0 {
					return errno
				}
				got += n
				result.Replies += uint64(n)
				if handled == mine {
					result.Delivered += uint64(n)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func TestRepliesAreHandledWhereTheyAreRead(t *testing.T) {
	dir := group(t)
	ask, err := Attach(Options{Cgroup: dir})
	must(t, ask, err)
	answer, err := Serve(dir)
	must(t, answer, err)
	e := runExchange(t, dir, "steered")
	if e.Skip != "" {
		t.Skip(e.Skip)
	}
	assert.EqualValues(t, 5*rounds*replyBytes, e.Replies)
	assert.GreaterOrEqual(t, float64(e.Delivered), 0.98*float64(e.Replies))
	t.Logf("%.2f %% of %d bytes", 100*float64(e.Delivered)/float64(e.Replies), e.Replies)
}
