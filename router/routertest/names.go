package routertest

import (
	"context"
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"sync"
)

// Names is the DNS of these tests: every name below test is this machine, and no other is
// there. It keeps what it was asked for, which is how a name could carry something out.
var Names = &NameServer{}

// A NameServer answers queries for names over UDP.
type NameServer struct {
	conn net.PacketConn

	mu   sync.Mutex
	list []string
}

// serveNames has the program ask names until it ends.
func serveNames() (err error) {
	if Names.conn, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		return err
	}
	go Names.serve()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", Names.conn.LocalAddr().String())
	}}
	return nil
}

// Asked are the names below host that were looked up.
func (s *NameServer) Asked(host string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.list {
		if strings.HasSuffix(name, host) {
			all = append(all, name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

func (s *NameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := s.reply(buf[:n]); reply != nil {
			_, _ = s.conn.WriteTo(reply, from)
		}
	}
}

// reply answers a query for one name (RFC 1035, section 4).
func (s *NameServer) reply(query []byte) []byte {
	const header = 12
	var labels []string
	at := header
	for at < len(query) && query[at] > 0 {
		end := at + 1 + int(query[at])
		if end >= len(query) {
			return nil
		}
		labels = append(labels, string(query[at+1:end]))
		at = end
	}
	if at += 5; at > len(query) { // the end of the name, its type and class
		return nil
	}
	name := strings.ToLower(strings.Join(labels, "."))
	s.mu.Lock()
	s.list = append(s.list, name)
	s.mu.Unlock()
	reply := slices.Clone(query[:at])
	here := strings.HasSuffix(name, ".test") || name == "localhost"
	ipv4 := binary.BigEndian.Uint16(query[at-4:]) == 1
	code, answers := byte(0), byte(0)
	switch {
	case !here:
		code = 3
	case ipv4:
		answers = 1
		reply = append(reply, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
	}
	reply[2], reply[3] = 0x81, 0x80|code
	copy(reply[4:header], []byte{0, 1, 0, answers, 0, 0, 0, 0})
	return reply
}
