package store

import (
	"context"
	"errors"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router"
)

var errPending = errors.New("being built")

func (r *Router) Absorb(context.Context, router.TurnRef, int) ([]agent.Incoming, error) {
	return nil, nil
}
func (r *Router) Draft(context.Context, router.TurnRef, channels.Body) (*router.Draft, error) {
	return nil, errPending
}
func (r *Router) Drafted(context.Context, router.TurnRef, *router.Draft) error { return errPending }
func (r *Router) Gone(context.Context, router.Hold, channels.ConversationID) (bool, error) {
	return false, nil
}
func (r *Router) AdminChats(context.Context) ([]channels.Conversation, error) { return nil, nil }
func (r *Router) Notify(context.Context, []byte, channels.Conversation, router.Reply) (bool, error) {
	return false, errPending
}
func (r *Router) Attachment(context.Context, string, int64) (*router.Attachment, error) {
	return nil, router.ErrNotFound
}
func (r *Router) SetAttachment(context.Context, *router.Attachment) error         { return errPending }
func (r *Router) AddAttachment(context.Context, string, *router.Attachment) error { return errPending }
func (r *Router) Forget(context.Context, time.Time, int) ([]string, error)        { return nil, nil }
func (r *Router) Referred(context.Context, string) (bool, error)                  { return true, nil }
func (r *Router) Shown(context.Context, channels.Conversation, channels.MessageID) (string, error) {
	return "", router.ErrNotFound
}
