package doctor

import (
	"fmt"
	"strings"
	"time"

	"switchboard/cmd/switchboard/access"
	"switchboard/internal/words"
	"switchboard/router/tokens"
)

// soon is how long before its end a token is warned of.
const soon = 7 * 24 * time.Hour

// tokens says how many API tokens are good, and warns of those that have expired or soon will. Nothing where there are none.
func (l ledgerReport) tokens() {
	known := &tokens.Service{Store: l.db.Router(), Configured: func() []tokens.Configured { return access.Tokens(l.settings) }}
	list, err := known.List(l.ctx)
	if err != nil {
		l.noAnswer("tokens", err)
		return
	}
	now, good := time.Now(), 0
	var ends []string
	for _, t := range list {
		if t.Fault(now) == nil {
			good++
		}
		if !t.ExpiresAt.IsZero() && t.RevokedAt.IsZero() && t.ExpiresAt.Before(now.Add(soon)) {
			ends = append(ends, fmt.Sprintf("%s (%s)", t.Name, words.At(t.ExpiresAt)))
		}
	}
	if len(ends) > 0 {
		l.warn("tokens", "make another with \"switchboard token create NAME\", give it to the program that needs it, and revoke the old one with \"token revoke NAME\"",
			"expired, or expiring within a week: "+strings.Join(ends, ", "))
	} else if good > 0 {
		l.ok("tokens", "%s for the HTTP API", words.Count(good, "token"))
	}
}
