package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// Dial opens a WebSocket at address, and is ready within the time given; a frame may have most
// bytes. Its error is said plainly.
func Dial(ctx context.Context, address string, within time.Duration, most int64) (*websocket.Conn, error) {
	dialer := websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, HandshakeTimeout: within,
		NetDialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
	}
	conn, resp, err := dialer.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, errors.New(Plainly(err))
	}
	conn.SetReadLimit(most)
	return conn, nil
}
