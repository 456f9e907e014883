package wire

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// A Socket is a WebSocket that several goroutines may write to.
type Socket struct {
	*websocket.Conn
	writing sync.Mutex
}

// Dial opens a WebSocket at address, and is ready within the time given; a frame may have most
// bytes. Its error is said plainly.
func (t *Transport) Dial(ctx context.Context, address string, within time.Duration, most int64) (*Socket, error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: within, NetDialContext: t.http.DialContext}
	conn, resp, err := dialer.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, errors.New(Plainly(err))
	}
	conn.SetReadLimit(most)
	return &Socket{Conn: conn}, nil
}

// Say writes v as JSON within the time given. Its error is said plainly.
func (s *Socket) Say(v any, within time.Duration) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.SetWriteDeadline(time.Now().Add(within))
	if err := s.WriteJSON(v); err != nil {
		return errors.New(Plainly(err))
	}
	return nil
}

// End says that the connection is closed, with a code, and closes it. What is written at the
// same time fails.
func (s *Socket) End(code int) {
	_ = s.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(100*time.Millisecond))
	_ = s.Close()
}
