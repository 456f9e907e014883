package wire

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"syscall"

	"github.com/gorilla/websocket"

	"switchboard/channels"
)

// Unanswered is the error of a call that got no complete answer from address: one that is
// channels.ErrNotConnected where surely nothing of it left this machine. hide takes credentials
// out of the text; nil: there are none in it.
func (x *Exchange) Unanswered(op, address string, hide func(string) string) error {
	err := cmp.Or(x.Err, x.Library)
	if hide == nil {
		hide = func(text string) string { return text }
	}
	switch {
	case !x.left.Load() && !isNetwork(err):
		return Hidden(fmt.Sprintf("%s: %s", op, hide(fmt.Sprint(err))), channels.ErrNotConnected, err)
	case !x.left.Load():
		return Hidden(fmt.Sprintf("cannot reach %s: %s", address, hide(Plainly(err))), channels.ErrNotConnected, err)
	}
	return Hidden(fmt.Sprintf("%s: no complete answer from %s: %s", op, address, hide(Plainly(err))), err)
}

// Hidden is an error with a text of its own. errors.Is finds those behind it, but they are
// not handed out: their texts may hold a credential.
func Hidden(text string, behind ...error) error { return &hidden{text, behind} }

type hidden struct {
	text   string
	behind []error
}

func (e *hidden) Error() string { return e.text }

func (e *hidden) Is(target error) bool {
	return slices.ContainsFunc(e.behind, func(err error) bool { return errors.Is(err, target) })
}

// isNetwork says that err is what became of an attempt to connect.
func isNetwork(err error) bool {
	_, network := errors.AsType[net.Error](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return network || certificate || errors.Is(err, io.EOF)
}

// isDial says that no connection was made at all.
func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	if ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	_, ok = errors.AsType[*net.DNSError](err)
	return ok
}

// Plainly says for people why a call or a socket came to nothing, without the layers that
// it came through and without the address, which may hold a credential.
func Plainly(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "there is no host named " + dns.Name
		}
		return "the name " + dns.Name + " cannot be looked up: " + dns.Err
	}
	text := fmt.Sprint(err)
	if u, ok := errors.AsType[*url.Error](err); ok {
		text = fmt.Sprint(u.Err)
	}
	_, closed := errors.AsType[*websocket.CloseError](err)
	if code, ok := errors.AsType[syscall.Errno](err); ok {
		text = code.Error()
	} else if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		text = "it does not answer in time"
	} else if closed || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text = "the connection was closed"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return "the proxy cannot be used: " + text
	}
	return text
}

// Unusable is what an Examiner finds when the bot cannot be asked about. given says where the
// credentials come from, for a channel that waits for them; renew how to replace rejected ones.
func Unusable(err error, given, renew string) channels.Finding {
	switch {
	case errors.Is(err, channels.ErrNoCredentials):
		return channels.Finding{OK: true, Warn: true, Text: err.Error() + "; the channel waits for it. " + given}
	case errors.Is(err, channels.ErrUnauthorized):
		return channels.Finding{Text: err.Error(), Fix: renew}
	}
	return channels.Finding{Text: err.Error(), Fix: "see whether this machine reaches the platform (api_url, proxy, DNS)"}
}

// Final says whether err is a refusal that would come again: channels.ErrGone or a
// channels.RefusedError that is not temporary.
func Final(err error) bool {
	refused, ok := errors.AsType[*channels.RefusedError](err)
	return errors.Is(err, channels.ErrGone) || ok && !refused.Temporary
}

// Rich reads the markup of a body, which its adapter made; the zero T where it has none.
func Rich[T any](op string, body channels.Body) (rich T, err error) {
	if len(body.Rich) == 0 {
		return rich, nil
	}
	if err = json.Unmarshal(body.Rich, &rich); err != nil {
		err = fmt.Errorf("its markup cannot be read: %w", err)
	}
	return rich, Refuse(op, err)
}

// Refuse is why, as a refusal of op before anything was sent; nil for nil.
func Refuse(op string, why error) error {
	if why == nil {
		return nil
	}
	return &channels.RefusedError{Op: op, Reason: why.Error()}
}

// Unless is err; nil where it is one of those.
func Unless(err error, those ...error) error {
	if slices.ContainsFunc(those, func(target error) bool { return errors.Is(err, target) }) {
		return nil
	}
	return err
}
