package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// idleWait is how long a connection may be without a call.
	idleWait = 2 * time.Minute
	// maxHeader bounds the headers of a call, in bytes.
	maxHeader = 32 << 10
	// endWait is how long calls may take to come to their end when the server stops.
	endWait = 5 * time.Second
)

// A TCPServer serves the API over TCP.
type TCPServer struct{ serving }

// ListenTCP opens the address, HOST:PORT; port 0 is a free one.
func ListenTCP(ctx context.Context, address string, handler http.Handler, log *slog.Logger) (*TCPServer, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("open the port of the HTTP API: %w; server.listen sets another one, \"\" none", err)
	}
	return &TCPServer{serving{listener, &http.Server{
		Handler: handler, ReadHeaderTimeout: headerWait, IdleTimeout: idleWait, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}, log}}, nil
}

// Address is where it listens, HOST:PORT.
func (s *TCPServer) Address() string { return s.listener.Addr().String() }

// Close takes no call any more, waits a little for those under way, and ends the rest. Calling it twice is fine.
func (s *TCPServer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		s.server.Close()
	}
	s.listener.Close()
}
