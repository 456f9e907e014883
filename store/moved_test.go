package store_test

import (
	"errors"
	"fmt"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

func (h *house) wantMoved(want ...intake.Moved) {
	h.Helper()
	got, err := h.Router.Moved(h.Ctx)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		h.Errorf("moved %+v, %v; want %+v", got, err, want)
	}
}

func TestMovedConversationGoesOn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		ref := h.Begun("old", "1")
		queued := h.One(storetest.Entry("old", "2", "two"))
		h.Posts("old", "3", "help")
		thread := storetest.Entry("old/7", "4", "in a thread")
		thread.Event.Conversation.Kind, thread.Event.Conversation.Place = channels.Thread, "old"
		h.Accept(thread)

		for i := range 2 { // once more under another key
			a := h.One(storetest.Moves("old", "new", fmt.Sprint(i)))
			if a.Duplicate || a.MessageID != 0 || a.TurnID != 0 {
				t.Errorf("%+v", a)
			}
			h.Accept(storetest.Moves("old", "old", "itself"))
		}
		h.wantMoved(intake.Moved{Channel: "tg", Former: "old", Current: "new"})
		d := h.Load(ref)
		if d.Conversation.ID != "new" || d.Conversation.Place != "new" || d.Conversation.Kind != channels.Group || d.Turn.Session.Key != "tg:new" || d.ReplyTo != "" {
			t.Errorf("%+v, reply to %q", d.Conversation, d.ReplyTo)
		}
		h.WantCount(1, "SELECT count(*) FROM conversations WHERE conversation = 'old/7' AND place = 'new'")
		if out := h.Begin(hold, "new"); out == nil || out.Body.Text != "help" || out.Conversation.ID != "new" {
			t.Errorf("%+v", out)
		}
		step, reply := storetest.SaidIn("hello", 0, true)
		if next := h.Commit(ref, step, reply); next == nil || next.TurnID != queued.TurnID {
			t.Errorf("next %+v", next)
		}
		// The platform counts again there: the same number is another message.
		same := storetest.Entry("new", "1", "a new one")
		same.Key = storetest.Entry("new", "1 in new", "").Key
		if a := h.One(same); a.Duplicate || a.SessionID != ref.SessionID {
			t.Errorf("%+v", a)
		}
		// What still comes from the old ID belongs to the same session.
		for _, m := range []string{"queue", "steer"} {
			late := storetest.Mode(storetest.Entry("old", "late "+m, "late"), m)
			if a := h.One(late); a.SessionID != ref.SessionID {
				t.Errorf("%+v", a)
			}
		}
		h.WantCount(2, "SELECT count(*) FROM conversations")
		// On to a third, and back to the first.
		h.Accept(storetest.Moves("new", "third", "a"))
		h.wantMoved(intake.Moved{Channel: "tg", Former: "old", Current: "third"}, intake.Moved{Channel: "tg", Former: "new", Current: "third"})
		h.Accept(storetest.Moves("third", "old", "b"))
		h.wantMoved(intake.Moved{Channel: "tg", Former: "new", Current: "old"}, intake.Moved{Channel: "tg", Former: "third", Current: "old"})
		if a := h.One(storetest.Entry("new", "last", "from a former one")); a.SessionID != ref.SessionID {
			t.Errorf("%+v", a)
		}
	})
}

func TestMovedConversationThatIsNotKnownIsOneWithItsNewSelf(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Accept(storetest.Moves("old", "new", "1"))
		h.wantMoved(intake.Moved{Channel: "tg", Former: "old", Current: "new"})
		a, b := h.One(storetest.Entry("old", "1", "one")), h.One(storetest.Entry("new", "2", "two"))
		if a.SessionID == 0 || a.SessionID != b.SessionID {
			t.Errorf("%+v %+v", a, b)
		}
		if d := h.Load(h.Claim(1)[0].TurnRef); d.Turn.Session.Key != "tg:new" || d.Conversation.ID != "new" {
			t.Errorf("%+v", d.Turn.Session)
		}
		// Only the new one is known, and it moved long ago.
		h.One(storetest.Entry("here", "3", "three"))
		h.Accept(storetest.Moves("before", "here", "2"))
		if a := h.One(storetest.Entry("before", "4", "four")); a.SessionID == b.SessionID {
			t.Errorf("%+v", a)
		}
		h.WantCount(2, "SELECT count(*) FROM conversations")
	})
}

// Messages of the new ID came before it was told that it is the old one's: both
// become one, with everything of both.
func TestMovedConversationMergesWithItsNewSelf(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		old := h.Begun("old", "1")
		h.Posts("old", "2", "in the old")
		young := h.Begun("new", "3")
		h.Commit(young, agent.Step{Calls: []agent.Call{{Step: "plan.0.0"}}})
		queued := h.One(storetest.WithFile(storetest.Entry("new", "4", "four"), "f", 1))
		h.Posts("new", "5", "in the new")
		h.Asks("other", "6", storetest.Question("q", storetest.Tomorrow(), "a"))
		h.WantCount(3, "SELECT count(*) FROM conversations")

		h.Exec("UPDATE sessions SET restless = FALSE, looked_to = 9, summed_to = id, indexed_to = 7, reported_to = 10 - id, private = CASE key WHEN 'tg:new' THEN 'on' ELSE '' END",
			"INSERT INTO recalled (kind, ref, scope, session_id, said_at, mark, words) SELECT 'summary', id, 'group:tg:new', id, 1, 'x', 'x' FROM sessions WHERE key = 'tg:new'")
		a := h.One(storetest.Moves("old", "new", "1"))
		h.WantCount(1, fmt.Sprintf("SELECT count(*) FROM sessions WHERE restless = TRUE AND looked_to = 9 AND summed_to = %d AND reported_to = %d AND private = 'on' AND key = 'tg:new'", old.SessionID, 10-young.SessionID))
		h.WantCount(0, "SELECT count(*) FROM recalled")
		if a.Waiting || a.SessionID != old.SessionID { // the old session is held, and goes on to what was added
			t.Errorf("%+v", a)
		}
		h.WantCount(2, "SELECT count(*) FROM conversations")
		if _, err := h.Router.Commit(h.Ctx, young, agent.Step{}, nil); !errors.Is(err, core.ErrFenced) {
			t.Errorf("the merged session's lease: %v", err)
		}
		h.Posts("new", "7", "after")
		var order []string
		for {
			out := h.Begin(hold, "new")
			if out == nil {
				break
			}
			order = append(order, out.Body.Text)
			h.Settle(hold, out, outbox.Settlement{State: outbox.DeliverySent})
		}
		if fmt.Sprint(order) != "[in the old in the new after]" {
			t.Errorf("%v", order)
		}
		if e, err := h.Router.Events(h.Ctx, "tg:new", 0, 100); err != nil || len(e) < 8 || e[len(e)-1].N != int64(len(e)) {
			t.Errorf("%+v, %v", e, err)
		}
		next := h.Commit(old, storetest.End("done", "answered"))
		if next == nil || next.TurnID != young.TurnID {
			t.Fatalf("next %+v", next)
		}
		if d := h.Load(next.TurnRef); d.Turn.Session.Key != "tg:new" || len(d.State.Calls) != 1 || len(d.State.Recent) != 3 || d.ReplyTo != "m3" {
			t.Errorf("%+v", d)
		}
		if next = h.Commit(next.TurnRef, storetest.End("done", "answered")); next == nil || next.TurnID != queued.TurnID {
			t.Fatalf("next %+v", next)
		}
		file := h.Load(next.TurnRef).Turn.Message.Attachments[0]
		if _, err := h.Router.Attachment(h.Ctx, "tg:new", storetest.Atoi(t, file.ID)); err != nil {
			t.Error(err)
		}
		if next = h.Commit(next.TurnRef, storetest.End("done", "answered")); next != nil {
			t.Errorf("next %+v", next)
		}

		// With nobody at work the one who hears of it is told that something waits.
		h.One(storetest.Entry("y", "8", "eight"))
		x := h.Begun("x", "9")
		h.Commit(x, storetest.End("done", "answered"))
		if a := h.One(storetest.Moves("x", "y", "2")); !a.Waiting || a.SessionID != x.SessionID {
			t.Errorf("%+v", a)
		}
		if list := h.Claim(9); len(list) != 1 || list[0].SessionID != x.SessionID {
			t.Errorf("%+v", list)
		}
		// A stranger wrote to one of them only.
		s := storetest.Stranger("s", "10")
		h.Accept(s, storetest.Entry("t", "11", "eleven"), storetest.Moves("s", "t", "3"))
		if a := h.One(storetest.Entry("t", "12", "twelve")); a.SessionID == 0 {
			t.Errorf("%+v", a)
		}
		if list := h.Claim(9); len(list) != 1 {
			t.Errorf("%+v", list)
		}
	})
}

// A conversation that moves while its first message is taken has a session by its new name.
func TestMovedWhileTheFirstMessageIsTaken(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	for _, mode := range []string{"queue", "steer"} { // the second goes without the function
		from, to := "from "+mode, "to "+mode
		h.Accept(keptOut(from, from, "stranger"))
		end, err := storetest.OpenTransaction(h.Ctx, h.DB, fmt.Sprintf(`
			WITH u AS (UPDATE conversations SET conversation = '%s' WHERE conversation = '%s' RETURNING id, channel)
			INSERT INTO moved (channel, former, conversation_id, moved_at) SELECT channel, '%[2]s', id, 1 FROM u`, to, from))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.Accept(storetest.Mode(storetest.Entry(from, "k"+mode, "hello"), mode))
		}()
		storetest.AwaitBlocked(t, h.DB, 1)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		<-done
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE key = 'tg:"+to+"'")
		h.WantCount(0, "SELECT count(*) FROM sessions WHERE key = 'tg:"+from+"'")
	}
}
