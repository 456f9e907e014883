package audit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

func TestAdminsReadTheAuditLogInADirectChat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Commands = []commands.Command{audit.Command(r.DB.Router())}
		r.Start()
		for i := range 12 {
			code := outbox.HashCode(fmt.Sprint(i))
			if err := r.DB.Router().ProposeClaim(t.Context(), code, "", time.Now().Add(time.Hour), core.Actor{Person: "eve *x*", Rule: audit.RuleMachine}); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.DB.Router().ProposeClaim(t.Context(), []byte("another"), "", time.Now().Add(time.Hour), people.LocalActor("ada")); err != nil {
			t.Fatal(err)
		}
		for i, c := range []struct {
			says string
			rows int
			has  string
		}{
			{"/audit", 10, "To see earlier ones: /audit before 4"},
			{"/audit before 4", 3, "eve *x* made a claim code"},
			{"/audit person ada", 1, "ada made a claim code"},
			{"/audit kind claim", 10, "To see earlier ones: /audit kind claim before 4"},
			{"/audit kind claim.mak", 0, "There is no such row"},
			{"/audit turn 7", 0, "There is no such row"},
			{"/audit turn", 0, "shows the newest rows"},
		} {
			r.Platform.Say("adas", "ada", c.says)
			text := r.Await(i + 1)[i].Text
			if got := strings.Count(text, "made a claim code"); got != c.rows || !strings.Contains(text, c.has) {
				t.Errorf("%s: %d rows in %q", c.says, got, text)
			}
		}
		r.Platform.Say("bobs", "bob", "/audit")
		if text := r.Await(8)[7].Text; !strings.Contains(text, "I do not know /audit") {
			t.Errorf("a user reads %q", text)
		}
		r.Asks("adas", "ada", "/timezone Pacific/Kiritimati")
		there := time.Now().In(time.FixedZone("", 14*60*60))
		if text := r.Asks("adas", "ada", "/audit kind claim"); !strings.Contains(text, there.Format("2006-01-02 15:")) && there.Minute() > 0 {
			t.Errorf("she reads %q, and there it is %s", text, there)
		}
	})
}
