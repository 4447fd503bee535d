package steer

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func TestPacketsGoToChosenCPUs(t *testing.T) {
	a, b := twoCPUs(t)
	w := newWire(t)
	e := w.start(t)
	s := w.open(t, Options{Policy: Chosen, CPUs: cpuset.Of(a, b), Targets: []kernel.TID{e.consumer}})
	require.NoError(t, s.SetChoice(cpuset.Of(b)))
	assert.LessOrEqual(t, e.share(a, a), 0.02, "all are on the other CPU")
	require.NoError(t, s.SetChoice(cpuset.Of(a)))
	assert.GreaterOrEqual(t, e.share(a, b), 0.98)
}

func TestPacketsStayApartFromTheConsumer(t *testing.T) {
	a, b := twoCPUs(t)
	w := newWire(t)
	e := w.start(t)
	w.open(t, Options{Policy: Apart, CPUs: cpuset.Of(a, b), Apart: map[cpuset.CPU]cpuset.CPU{a: b, b: a}, Targets: []kernel.TID{e.consumer}})
	assert.LessOrEqual(t, e.share(a, a), 0.02)
	assert.LessOrEqual(t, e.share(b, b), 0.02, "after it has moved")
}

func TestOnlyTargetsAreSteered(t *testing.T) {
	a, b := twoCPUs(t)
	w := newWire(t)
	e := w.start(t)
	for name, o := range map[string]Options{
		"pass":         {Policy: Pass, Targets: []kernel.TID{e.consumer}},
		"other target": {Policy: Current, CPUs: cpuset.Of(a, b), Targets: []kernel.TID{1}},
	} {
		s := w.open(t, o)
		e.share(a, b)
		stats, err := s.Stats()
		require.NoError(t, err)
		assert.Zero(t, stats.Redirected, name)
		assert.Positive(t, stats.Passed, name)
		s.Close()
	}
	s := w.open(t, Options{Policy: Current, CPUs: cpuset.Of(a, b)})
	require.NoError(t, s.SetTargets(e.consumer))
	assert.GreaterOrEqual(t, e.share(a, b), 0.98)
}

// datagrams is how many the tests of UDP send, each after the one before was read.
const datagrams = 300

func TestDatagramsFollowTheirReader(t *testing.T) {
	a, b := twoCPUs(t)
	for name, remote := range map[string]*net.UDPAddr{"connected": {IP: net.IP{10, 99, 0, 2}, Port: 7002}, "not connected": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			var reader, sender *net.UDPConn
			local := &net.UDPAddr{Port: 7001}
			require.NoError(t, w.near.Do(func() (err error) {
				if reader, err = net.ListenUDP("udp", local); remote != nil {
					_ = reader.Close()
					reader, err = net.DialUDP("udp", local, remote)
				}
				return err
			}))
			defer reader.Close()
			require.NoError(t, w.far.Do(func() (err error) {
				sender, err = net.DialUDP("udp", &net.UDPAddr{Port: 7002}, &net.UDPAddr{IP: net.IP{10, 99, 0, 1}, Port: 7001})
				return err
			}))
			defer sender.Close()
			require.NoError(t, sender.SetDeadline(time.Now().Add(patience)))
			require.NoError(t, reader.SetDeadline(time.Now().Add(patience)))

			begin := make(chan kernel.TID)
			ended := make(chan error)
			go func() {
				ended <- kernel.OnThread(func() error {
					begin <- kernel.CallingThread()
					<-begin
					return answer(reader, b)
				})
			}()
			s := w.open(t, Options{Policy: Current, CPUs: cpuset.Of(a, b), Targets: []kernel.TID{<-begin}})
			begin <- 0
			require.NoError(t, kernel.OnThread(func() error { return ask(sender, a) }))
			require.NoError(t, <-ended)
			stats, err := s.Stats()
			require.NoError(t, err)
			assert.GreaterOrEqual(t, stats.Redirected, uint64(datagrams*0.98), "%+v", stats)
		})
	}
}

func ask(conn *net.UDPConn, on cpuset.CPU) error {
	if err := kernel.System().SetAffinity(0, cpuset.Of(on)); err != nil {
		return err
	}
	buf := make([]byte, 100)
	for range datagrams {
		if _, err := conn.Write(buf); err != nil {
			return err
		}
		if _, err := conn.Read(buf); err != nil {
			return err
		}
	}
	return nil
}

func answer(conn *net.UDPConn, on cpuset.CPU) error {
	if err := kernel.System().SetAffinity(0, cpuset.Of(on)); err != nil {
		return err
	}
	buf := make([]byte, 100)
	for range datagrams {
		_, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return err
		}
		if conn.RemoteAddr() != nil {
			_, err = conn.Write(buf)
		} else {
			_, err = conn.WriteToUDPAddrPort(buf, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The loopback interface has no driver: generic XDP, here with IPv6.
func TestGenericOnLoopback(t *testing.T) {
	a, b := twoCPUs(t)
	w := newWire(t)
	require.NoError(t, w.near.SetUp("lo", netip.MustParsePrefix("127.0.0.1/8")))
	w.index = 1
	var reader, sender net.Conn
	require.NoError(t, w.near.Do(func() error {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]:0")
		if err != nil {
			return err
		}
		defer listener.Close()
		if reader, err = net.DialTimeout("tcp", listener.Addr().String(), patience); err != nil {
			return err
		}
		sender, err = listener.Accept()
		return err
	}))
	defer reader.Close()
	defer sender.Close()
	begin := make(chan kernel.TID)
	ended := make(chan error)
	go func() {
		ended <- kernel.OnThread(func() error {
			begin <- kernel.CallingThread()
			<-begin
			return pass(reader, b, true)
		})
	}()
	s := w.open(t, Options{Policy: Current, CPUs: cpuset.Of(a, b), Targets: []kernel.TID{<-begin}})
	require.Equal(t, []Interface{{1, "lo", Generic, "its driver refuses (operation not supported)"}}, s.Interfaces)
	begin <- 0
	require.NoError(t, kernel.OnThread(func() error { return pass(sender, a, false) }))
	require.NoError(t, <-ended)
	stats, err := s.Stats()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, stats.Redirected, uint64(datagrams/2), "%+v", stats)
}

// pass hands a byte to and fro.
func pass(conn net.Conn, on cpuset.CPU, reads bool) error {
	if err := kernel.System().SetAffinity(0, cpuset.Of(on)); err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	buf := make([]byte, 1)
	for i := range 2 * datagrams {
		var err error
		if (i%2 == 0) == reads {
			_, err = conn.Read(buf)
		} else {
			_, err = conn.Write(buf)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
