package telegramtest

import (
	"fmt"
	"net/http"
	"strconv"

	"switchboard/channels/platformtest"
)

// docs is the page of the Bot API; a rejection names a section of it.
const docs = "https://core.telegram.org/bots/api"

// A Rejection is what the platform answers to a call that it does not carry out.
type Rejection struct {
	Code        int    // as HTTP status and error_code
	Description string // with the words of the code in front, as the platform writes it
	RetryAfter  int    // seconds; with code 429
	MigrateTo   int64  // the supergroup's ID, when a group was upgraded
	Page        string // where the documentation says so
	Detail      string // what exactly was wrong, where the description is terse; not sent
}

func (r *Rejection) Error() string {
	text := fmt.Sprintf("%d %s", r.Code, r.Description)
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return text + " (" + r.Page + ")"
}

// Encode implements platformtest.Rejection.
func (r *Rejection) Encode(header http.Header) (status int, body []byte) {
	answer := map[string]any{"ok": false, "error_code": r.Code, "description": r.Description}
	if r.RetryAfter > 0 {
		answer["parameters"] = map[string]any{"retry_after": r.RetryAfter}
	}
	if r.MigrateTo != 0 {
		answer["parameters"] = map[string]any{"migrate_to_chat_id": r.MigrateTo}
	}
	header.Set("X-Rejected-By", r.Page)
	return r.Code, platformtest.Encode(answer)
}

// bad is a 400; anchor is the section of the documentation.
func bad(anchor, description string, args ...any) *Rejection {
	return &Rejection{
		Code:        http.StatusBadRequest,
		Description: "Bad Request: " + fmt.Sprintf(description, args...),
		Page:        docs + "#" + anchor,
	}
}

// forbidden is a 403.
func forbidden(description string) *Rejection {
	return &Rejection{Code: http.StatusForbidden, Description: "Forbidden: " + description, Page: docs + "#making-requests"}
}

// conflict is a 409.
func conflict(anchor, description string) *Rejection {
	return &Rejection{Code: http.StatusConflict, Description: "Conflict: " + description, Page: docs + "#" + anchor}
}

// TooMany is a 429 that asks to wait for so many seconds.
func TooMany(seconds int) *Rejection {
	return &Rejection{
		Code:        http.StatusTooManyRequests,
		Description: "Too Many Requests: retry after " + strconv.Itoa(seconds),
		RetryAfter:  seconds,
		Page:        "https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this",
	}
}

func unauthorized() *Rejection {
	return &Rejection{Code: http.StatusUnauthorized, Description: "Unauthorized", Page: docs + "#authorizing-your-bot"}
}

func notFound(description string) *Rejection {
	return &Rejection{Code: http.StatusNotFound, Description: description, Page: docs + "#making-requests"}
}

// success is encoded under the lock, for what it holds may change.
func success(result any) []byte {
	return platformtest.Encode(map[string]any{"ok": true, "result": result})
}
