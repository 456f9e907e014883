package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/storetest"
)

// Summaries are seen and forgotten where they are found: somebody's own in their direct chats, a group's in it. What was being summed up
// from one that is forgotten is not written, and what is new is summed up.
func TestSummariesAreForgottenWhereTheyAreFound(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		says(h, "ada1", "one")
		says(h, "ada2", "two")
		h.Accept(storetest.By(storetest.Entry("bob1", "b1", "three"), "bob"))
		e := storetest.By(storetest.Entry("g1", "g1", "four"), "ada")
		e.Event.Conversation.Kind, e.Event.Conversation.Place = channels.Group, "g1"
		h.Accept(e)
		h.Exec("UPDATE turns SET state = 'done', finished_at = 1")
		h.Exec("UPDATE sessions SET summary = 'of ' || key")
		h.Exec("INSERT INTO recalled (kind, ref, scope, session_id, taint, said_at, mark, words) SELECT 'summary', id, 'person:ada', id, '', 1, 'x', 'of' FROM sessions")
		listed := func(scopes ...memory.Scope) string {
			var texts []string
			list, err := h.Router.Summaries(h.Ctx, routermemory.Filter{Scopes: scopes, Limit: 10})
			if err != nil {
				h.Fatal(err)
			}
			for _, one := range list {
				texts = append(texts, one.Text)
			}
			return strings.Join(texts, ", ")
		}
		ada, group := memory.OfPerson("ada"), memory.OfGroup("tg", "g1")
		if got := listed(ada); got != "of tg:ada2, of tg:ada1" && got != "of tg:ada1, of tg:ada2" {
			h.Errorf("ada's: %s", got)
		}
		if got := listed(group); got != "of tg:g1" || listed() == got || listed(memory.Global) != "" {
			h.Errorf("the group's: %s", got)
		}
		h.Exec("UPDATE sessions SET private = 'on' WHERE key = 'tg:bob1'")
		if got := listed(memory.OfPerson("bob")); got != "" || strings.Contains(listed(), "bob1") {
			h.Errorf("of a private chat: %s", got)
		}
		h.Exec("UPDATE sessions SET private = ''")
		list, err := h.Router.Resting(h.Ctx, h.Owner(), time.Now(), 10)
		if err != nil || len(list) == 0 {
			h.Fatal(list, err)
		}
		at, err := h.Router.Rest(h.Ctx, list[0].Session, h.Owner(), time.Now())
		if err != nil || at == nil {
			h.Fatal(at, err)
		}
		w := &routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}
		c := w.ForgetSummaries()
		if err := k.Service.Change(h.Ctx, c, core.Actor{Person: "ada"}); err != nil || len(c.Dropped) != 2 {
			h.Fatal(c.Dropped, err)
		}
		if got := listed(); listed(ada) != "" || !strings.Contains(got, "bob1") || !strings.Contains(got, "g1") {
			h.Errorf("left: %s", got)
		}
		h.WantCount(2, "SELECT count(*) FROM recalled WHERE kind = 'summary'")
		h.WantCount(1, "SELECT count(*) FROM audit WHERE action = 'memory.summaries' AND target = 'person:ada'")
		if err := h.Router.WriteSummary(h.Ctx, at, 1, "of what was read before", tools.Clean); !errors.Is(err, core.ErrFenced) {
			h.Error(err)
		}
		m := learned("Ada likes tea.", "SUMMARY")
		says(h, "ada1", "five", "six", "seven", "eight", "nine", "ten")
		rest(h, resting(h, m))
		if got := listed(ada); got != "SUMMARY" || strings.Contains(fmt.Sprint(m.asked), "of tg") {
			h.Errorf("after it: %s; asked %v", got, m.asked)
		}
	})
}
