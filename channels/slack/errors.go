package slack

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// What the platform says of credentials, of conversations that are closed to the bot, and
// of messages that cannot be changed any more.
//
// Source: https://docs.slack.dev/reference/methods/chat.postMessage "Errors",
// https://docs.slack.dev/reference/methods/chat.update "Errors".
var (
	credentialErrors = []string{
		"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type", "org_login_required",
	}
	goneErrors = []string{
		"channel_not_found", "not_in_channel", "is_archived", "user_not_found", "user_disabled", "cannot_dm_bot",
		"thread_not_found", "messages_tab_disabled",
	}
	missingErrors = []string{"message_not_found", "cant_update_message", "edit_window_closed", "cant_delete_message", "compliance_exports_prevent_deletion"}
	// limitErrors say that the whole app writes too much; ratelimited speaks of one method
	// in one place.
	limitErrors = []string{"rate_limited", "message_limit_exceeded"}
	// temporaryErrors come before anything was done, unknownErrors when some may have been.
	temporaryErrors = []string{"service_unavailable", "request_timeout", "team_added_to_org", "accesslimited"}
	unknownErrors   = []string{"internal_error", "fatal_error"}
)

// refusal is a complete error reply as the program knows it.
func (a *api) refusal(op string, x *exchange) error {
	code := x.reply.Error
	words := code
	if len(x.reply.Metadata.Messages) > 0 {
		words += " (" + strings.Join(x.reply.Metadata.Messages, "; ") + ")"
	}
	if x.reply.Needed != "" {
		words += "; the scope " + x.reply.Needed + " is needed"
	}
	switch {
	case x.Status == http.StatusTooManyRequests, code == "ratelimited", slices.Contains(limitErrors, code):
		return &channels.RateLimitError{
			Op: op, RetryAfter: x.RetryAfter(), Channel: slices.Contains(limitErrors, code), Err: errors.New(words),
		}
	case slices.Contains(credentialErrors, code):
		return wire.Refused(op, channels.ErrUnauthorized, words)
	case slices.Contains(goneErrors, code):
		return wire.Refused(op, channels.ErrGone, words)
	case slices.Contains(missingErrors, code):
		return wire.Refused(op, channels.ErrNoMessage, words)
	case slices.Contains(unknownErrors, code):
		return fmt.Errorf("%s: %s: some of it may have been done", op, words)
	}
	return &channels.RefusedError{Op: op, Reason: words, Temporary: slices.Contains(temporaryErrors, code)}
}

// outcome is what became of a call.
func (a *api) outcome(op string, x *exchange) error {
	switch {
	case x.reply != nil && *x.reply.OK:
		return nil
	case x.reply != nil:
		return a.refusal(op, x)
	case x.Status == http.StatusTooManyRequests:
		return x.TooManyRequests(op)
	case x.Status != 0:
		return fmt.Errorf("%s: the answer is %d and none of the Web API", op, x.Status)
	case x.Err == nil && x.Library == nil:
		return nil
	}
	return x.Unanswered(op, a.API+"/", nil)
}
