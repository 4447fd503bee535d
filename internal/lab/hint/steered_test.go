package hint

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/lab/netns"
	"piton/internal/lab/steer"
)

// steered asks for replies over a pair of interfaces that are like NICs, of which one is
// steered by hints, and reads each on another CPU. With a cgroup, the hints are options of
// IPv4, and are attached here.
func steered(cgroup string) error {
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
	policy := steer.Hint
	var hints []*Hints
	if cgroup != "" {
		policy = steer.HintByIP
		for i, open := range []func(Options) (*Hints, error){Attach, Serve} {
			h, err := openInside(ends[i], []string{"near", "far"}[i], open, cgroup)
			if why := (*object.Refusal)(nil); errors.As(err, &why) {
				result.Skip = err.Error()
				return json.NewEncoder(os.Stdout).Encode(result)
			}
			if err != nil {
				return err
			}
			defer h.Close()
			hints = append(hints, h)
		}
	}
	var s *steer.Steering
	err = near.Do(func() (err error) {
		s, err = steer.Open(steer.Options{Interfaces: []int{index}, Policy: policy, CPUs: allowed})
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
	for _, h := range hints {
		sums, err := h.Read()
		if err != nil {
			return err
		}
		result.Sums = append(result.Sums, sums)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// openInside opens hints by an option of IPv4 on an interface of a namespace.
func openInside(n *netns.Namespace, name string, open func(Options) (*Hints, error), cgroup string) (h *Hints, err error) {
	index, err := n.InterfaceIndex(name)
	if err != nil {
		return nil, err
	}
	err = n.Do(func() (err error) {
		h, err = open(Options{Cgroup: cgroup, Carrier: IP, Interfaces: []int{index}})
		return err
	})
	return h, err
}

func TestRepliesAreHandledWhereTheyAreRead(t *testing.T) {
	for _, carrier := range []Carrier{TCP, IP} {
		t.Run(carrier.String(), func(t *testing.T) {
			dir := group(t)
			role := "steered"
			if carrier == TCP {
				ask, err := Attach(Options{Cgroup: dir})
				must(t, ask, err)
				answer, err := Serve(Options{Cgroup: dir})
				must(t, answer, err)
			} else {
				role += " " + dir
			}
			e := runExchange(t, dir, role)
			if e.Skip != "" {
				t.Skip(e.Skip)
			}
			assert.EqualValues(t, 5*rounds*replyBytes, e.Replies)
			assert.GreaterOrEqual(t, float64(e.Delivered), 0.98*float64(e.Replies))
			if carrier == IP {
				require.Len(t, e.Sums, 2)
				for _, sums := range e.Sums {
					assert.Equal(t, Sums{Connections: 1, Hinted: 1, Written: sums.Written}, sums)
					assert.GreaterOrEqual(t, sums.Written, uint64(5*rounds))
				}
			}
			t.Logf("%.2f %% of %d bytes", 100*float64(e.Delivered)/float64(e.Replies), e.Replies)
		})
	}
}
