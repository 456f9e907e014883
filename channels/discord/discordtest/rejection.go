package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// A Rejection is the platform's refusal of a call.
//
// Source: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json,
// https://docs.discord.com/developers/topics/rate-limits#exceeding-a-rate-limit.
type Rejection struct {
	Status     int
	Code       int
	Message    string
	RetryAfter time.Duration // of 429
	Global     bool
	Shared     bool // it is the resource that is limited, not the bot
}

func (r *Rejection) Error() string { return fmt.Sprintf("%d %d: %s", r.Status, r.Code, r.Message) }

// Encode implements platformtest.Rejection.
func (r *Rejection) Encode(header http.Header) (status int, body []byte) {
	answer := map[string]any{"message": r.Message, "code": r.Code}
	if r.Status == http.StatusTooManyRequests {
		answer["retry_after"], answer["global"] = r.RetryAfter.Seconds(), r.Global
		header.Set("Retry-After", strconv.Itoa(int(r.RetryAfter.Seconds()+0.999)))
		scope := "user"
		switch {
		case r.Global:
			scope = "global"
			header.Set("X-RateLimit-Global", "true")
		case r.Shared:
			scope = "shared"
		}
		header.Set("X-RateLimit-Scope", scope)
	}
	body, _ = json.Marshal(answer) // it always can be
	return r.Status, body
}

// TooMany is the answer to a call beyond a limit.
func TooMany(after time.Duration, global bool) *Rejection {
	return &Rejection{Status: http.StatusTooManyRequests, Message: "You are being rate limited.", RetryAfter: after, Global: global}
}

// Refusals that the platform answers with; see the source of Rejection.
var (
	Unauthorized       = &Rejection{Status: http.StatusUnauthorized, Message: "401: Unauthorized"}
	UnknownChannel     = &Rejection{Status: http.StatusNotFound, Code: 10003, Message: "Unknown Channel"}
	UnknownMessage     = &Rejection{Status: http.StatusNotFound, Code: 10008, Message: "Unknown Message"}
	UnknownUser        = &Rejection{Status: http.StatusNotFound, Code: 10013, Message: "Unknown User"}
	UnknownCommand     = &Rejection{Status: http.StatusNotFound, Code: 10063, Message: "Unknown application command"}
	UnknownInteraction = &Rejection{Status: http.StatusNotFound, Code: 10062, Message: "Unknown interaction"}
	Acknowledged       = &Rejection{Status: http.StatusBadRequest, Code: 40060, Message: "Interaction has already been acknowledged."}
	MissingAccess      = &Rejection{Status: http.StatusForbidden, Code: 50001, Message: "Missing Access"}
	NotTheAuthor       = &Rejection{Status: http.StatusForbidden, Code: 50005, Message: "Cannot edit a message authored by another user"}
	EmptyMessage       = &Rejection{Status: http.StatusBadRequest, Code: 50006, Message: "Cannot send an empty message"}
	CannotSend         = &Rejection{Status: http.StatusForbidden, Code: 50007, Message: "Cannot send messages to this user"}
	MissingPermissions = &Rejection{Status: http.StatusForbidden, Code: 50013, Message: "Missing Permissions"}
	TooLarge           = &Rejection{Status: http.StatusRequestEntityTooLarge, Code: 40005, Message: "Request entity too large"}
	ThreadExists       = &Rejection{Status: http.StatusBadRequest, Code: 160004, Message: "A thread has already been created for this message"}
	UnknownEmoji       = &Rejection{Status: http.StatusBadRequest, Code: 10014, Message: "Unknown Emoji"}
)

// invalid is the answer to a body that breaks a rule.
func invalid(what string) *Rejection {
	return &Rejection{Status: http.StatusBadRequest, Code: 50035, Message: "Invalid Form Body: " + what}
}
