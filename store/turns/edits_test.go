package turns_test

import (
	"fmt"
	"sync"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

func deleted(conv, of, key string) intake.Entry {
	e := storetest.Edited(conv, of, key, "", "")
	e.Intent, e.Event.Kind = &intake.NewsIntent{}, channels.EventDeleted
	return e
}

func TestEditOfAMessageNeverTakenIsATurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		first := h.One(storetest.Claiming(storetest.Edited("c", "1", "e1", "new text", "steer")))
		if first.Edited != intake.EditNew || first.Claimed == nil || first.MessageID == 0 {
			t.Fatalf("%+v", first)
		}
		if a := h.One(storetest.Edited("c", "1", "e1", "new text", "steer")); !a.Duplicate {
			t.Errorf("the same edit told twice: %+v", a)
		}
		// The message itself comes after its edit, by whichever path.
		for _, m := range []string{"queue", "steer", "collect"} {
			if a := h.One(storetest.Mode(storetest.Entry("c", "1", "old text"), m)); !a.Duplicate || a.TurnID != 0 || a.SessionID != 0 {
				t.Errorf("the original as %s: %+v", m, a)
			}
		}
		if d := h.Load(first.Claimed.TurnRef); d.Turn.Message.Text != "new text" || d.Turn.Message.Replaces != 0 {
			t.Errorf("%+v", d.Turn.Message)
		}
		if a := h.One(storetest.Entry("other", "1x", "the same number elsewhere")); a.Duplicate {
			t.Errorf("%+v", a)
		}
		full := storetest.Limited(storetest.Edited("c", "9", "e9", "too many", "steer"), 0)
		if a := h.One(full); a.Outcome != intake.OutcomeBusy || a.Edited != intake.EditNew || a.TurnID != 0 {
			t.Errorf("%+v", a)
		}
	})
}

// What was said to others is taken once an edit means us, and never twice, also when
// it is told behind its edit.
func TestEditOfAnOverheardMessageIsATurnOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		overheard := func(of, key string) intake.Entry {
			e := storetest.Entry("c", key, "they talk")
			e.Event.Message.ID = channels.MessageID("m" + of)
			e.Intent, e.Sender.Person = &intake.AuditIntent{Why: intake.AuditOverheard}, ""
			return e
		}
		if a := h.One(overheard("1", "1")); a.SessionID != 0 || a.TurnID != 0 || a.MessageID == 0 {
			t.Errorf("%+v", a)
		}
		h.One(overheard("1", "still others"))
		first := h.One(storetest.Claiming(storetest.Edited("c", "1", "e1", "they talk", "steer")))
		if first.Edited != intake.EditNew || first.Claimed == nil {
			t.Fatalf("%+v", first)
		}
		if d := h.Load(first.Claimed.TurnRef); d.Turn.Message.Text != "they talk" || d.Turn.Message.Replaces != 0 {
			t.Errorf("%+v", d.Turn.Message)
		}
		h.One(overheard("1", "late"))
		if a := h.One(storetest.Edited("c", "1", "e2", "they talk", "steer")); a.Edited != intake.EditSame {
			t.Errorf("the same text once more: %+v", a)
		}
		if a := h.One(storetest.Edited("c", "1", "e3", "another", "steer")); a.Edited != intake.EditSteers || a.Steers != first.TurnID {
			t.Errorf("changed again: %+v", a)
		}
		collected := storetest.Mode(storetest.Edited("c", "2", "e4", "collected", "steer"), "collect")
		h.Accept(overheard("2", "2"), storetest.Mode(storetest.Entry("c", "3", "waits"), "collect"))
		if a := h.One(collected); a.Edited != intake.EditNew || !a.Merged {
			t.Errorf("%+v", a)
		}
		if a := h.One(storetest.Entry("c", "2", "told as a message")); !a.Duplicate {
			t.Errorf("%+v", a)
		}
	})
}

func TestEditThatChangesNothingIsNoEdit(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		a := h.One(storetest.WithFile(storetest.Entry("c", "1", "look"), "ref1", 7))
		for i, e := range []intake.Entry{
			storetest.WithFile(storetest.Edited("c", "1", "e1", "look", "steer"), "ref1", 7),
			storetest.WithFile(storetest.Edited("c", "1", "e2", "look", "steer"), "another reference to the same", 7),
		} {
			if got := h.One(e); got.Edited != intake.EditSame || got.MessageID != a.MessageID || got.TurnID != 0 || got.Event != 0 {
				t.Errorf("%d: %+v", i, got)
			}
		}
		for i, e := range []intake.Entry{
			storetest.WithFile(storetest.Edited("c", "1", "e3", "look", "steer"), "ref2", 8),
			storetest.WithFile(storetest.Edited("c", "1", "e4", "look", "steer"), "ref3", 0),
			storetest.Edited("c", "1", "e5", "look", "steer"),
		} {
			if got := h.One(e); got.Edited != intake.EditReplaced {
				t.Errorf("%d: %+v", i, got)
			}
		}
		h.WantCount(1, "SELECT count(*) FROM messages")
	})
}

func TestEditBeforeItsTurnReplacesTheText(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Accept(storetest.Entry("c", "1", "one"), storetest.Mode(storetest.WithFile(storetest.Entry("c", "2", "two"), "old", 3), "collect"))
		e := storetest.WithFile(storetest.Edited("c", "2", "e1", "zwei", "ignore"), "new", 4)
		e.Taint, e.Event.Message.Quote = "file", "said before"
		if a := h.One(e); a.Edited != intake.EditReplaced || a.TurnID == 0 || a.Steers != 0 {
			t.Errorf("%+v", a)
		}
		if a := h.One(storetest.Edited("c", "1", "e2", "uno", "steer")); a.Edited != intake.EditReplaced {
			t.Errorf("%+v", a)
		}
		if a := h.One(storetest.Edited("c", "1", "e3", "eins", "restart")); a.Edited != intake.EditReplaced {
			t.Errorf("twice in a row: %+v", a)
		}
		m := h.Load(h.Claim(1)[0].TurnRef).Turn.Message
		if m.Text != "eins\n\nzwei" || m.Taint != "file" || m.Quote != "said before" || len(m.Attachments) != 1 || m.Attachments[0].Size != 4 {
			t.Errorf("%+v", m)
		}
	})
}

func TestEditWhileItsTurnRunsSteersIt(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		original := h.Load(ref).Turn.Message.ID
		a := h.One(storetest.Edited("c", "1", "e1", "better", "steer"))
		if a.Edited != intake.EditSteers || a.Steers != ref.TurnID || a.TurnID == ref.TurnID || a.TurnID == 0 {
			t.Fatalf("%+v", a)
		}
		// Changed again before the turn came to a boundary: one text to heed.
		if again := h.One(storetest.Edited("c", "1", "e2", "best", "restart")); again.Edited != intake.EditReplaced || again.TurnID != a.TurnID {
			t.Errorf("%+v", again)
		}
		list := h.absorb(ref, 1)
		if texts(list) != "best" || list[0].Replaces != original {
			t.Errorf("%+v", list)
		}
		// And again after it, now of what was merged.
		last := h.One(storetest.Edited("c", "1", "e3", "the very best", "restart"))
		if last.Edited != intake.EditRestarts || last.Steers != ref.TurnID {
			t.Errorf("%+v", last)
		}
		if list = h.absorb(ref, 2); texts(list) != "the very best" || list[0].Replaces != original {
			t.Errorf("%+v", list)
		}
		if a := h.One(storetest.Edited("c", "1", "e4", "never mind", "ignore")); a.Edited != intake.EditRevised || a.TurnID != 0 {
			t.Errorf("%+v", a)
		}
		if d := h.Load(ref); len(d.State.Added) != 2 || d.State.Added[1].Replaces != original || d.Turn.Message.Text != "hello 1" {
			t.Errorf("%+v", d.State.Added)
		}
		if next := h.Commit(ref, storetest.End("done", "answered")); next != nil {
			t.Errorf("next %+v", next)
		}
	})
}

// What was to steer and came too late runs by itself, and says what it is.
func TestEditTooLateToSteerRunsByItself(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		original := h.Load(ref).Turn.Message.ID
		a := h.One(storetest.Edited("c", "1", "e1", "late", "steer"))
		next := h.Commit(ref, storetest.End("done", "answered"))
		if next == nil || next.TurnID != a.TurnID {
			t.Fatalf("next %+v", next)
		}
		if m := h.Load(next.TurnRef).Turn.Message; m.Text != "late" || m.Replaces != original {
			t.Errorf("%+v", m)
		}
	})
}

func TestEditAfterItsTurnIsARevision(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Commit(h.Begun("c", "1"), storetest.End("done", "answered"))
		for i, text := range []string{"one", "two", "one"} {
			a := h.One(storetest.WithFile(storetest.Edited("c", "1", "e"+text+string(rune('0'+i)), text, "steer"), "f", int64(i+1)))
			if a.Edited != intake.EditRevised || a.TurnID != 0 || a.MessageID == 0 || a.Event == 0 {
				t.Errorf("%+v", a)
			}
		}
		d := h.Load(h.Begun("c", "2"))
		recent := d.State.Recent
		if len(recent) != 4 || recent[0].Text != "hello 1" || recent[1].Text != "(edited earlier message) one" ||
			recent[3].Text != "(edited earlier message) one" || len(recent[2].Attachments) != 1 || recent[2].Attachments[0].Size != 2 {
			t.Errorf("%+v", recent)
		}
		// One that is revised while another turn runs, or waits, is seen by it when it
		// is taken up.
		h.One(storetest.Edited("c", "1", "late", "three", "restart"))
		if d := h.Load(core.TurnRef{TurnID: d.Turn.ID, SessionID: d.Turn.Session.ID, Fence: 2}); len(d.State.Recent) != 5 {
			t.Errorf("%+v", d.State.Recent)
		}
	})
}

func TestEditsAreNeverAppliedToWhatWasNoTurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		stranger := storetest.Stranger("c", "1")
		notice := storetest.Entry("c", "3", "")
		notice.Intent = &intake.ControlIntent{Refused: true, Reply: storetest.Text("empty")}
		h.Accept(stranger, storetest.Control(storetest.Entry("c", "2", "/help"), intake.EffectNone, "help"), notice)
		for of, key := range map[string]string{"1": "e1", "2": "e2", "3": "e3"} {
			if a := h.One(storetest.Edited("c", of, key, "do it", "restart")); a.Edited != intake.EditRevised || a.TurnID != 0 || a.MessageID == 0 {
				t.Errorf("%s: %+v", of, a)
			}
		}
		h.WantCount(0, "SELECT count(*) FROM turns")
		for _, l := range h.Load(h.Begun("c", "9")).State.Recent {
			if l.Text == "let me in" || l.Text == "(edited earlier message) do it" && l.Author == "Marco P." {
				t.Errorf("a stranger's text is in the session: %+v", l)
			}
		}
		h.WantCount(2, "SELECT count(*) FROM messages WHERE class = 'stranger' AND session_id IS NULL")
	})
}

// An edit races with the start of its turn: it is in the text, or steers.
func TestEditRacingWithTheStartIsInTheTextOrSteers(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for _, conv := range []string{"a", "b", "c", "d", "e", "f"} {
			h.One(storetest.Entry(conv, conv, "old"))
			var a []intake.Accepted
			var list []core.Claimed
			var wg sync.WaitGroup
			wg.Go(func() {
				var err error
				if a, err = h.Router.Accept(h.Ctx, h.Owner(), []intake.Entry{storetest.Edited(conv, conv, conv+"e", "new", "steer")}); err != nil {
					t.Errorf("accept: %v", err)
				}
			})
			wg.Go(func() {
				var err error
				if list, err = h.Router.Claim(h.Ctx, h.Owner(), []string{"tg"}, nil, 1); err != nil {
					t.Errorf("claim: %v", err)
				}
			})
			wg.Wait()
			if len(list) == 0 { // a claim waits for nobody who has the session locked
				list = h.Claim(1)
			}
			if t.Failed() || len(list) != 1 {
				t.Fatalf("claimed %+v", list)
			}
			text, more := h.Load(list[0].TurnRef).Turn.Message.Text, texts(h.absorb(list[0].TurnRef, 1))
			switch a[0].Edited {
			case intake.EditReplaced:
				if text != "new" || more != "" {
					t.Errorf("replaced: %q, %q", text, more)
				}
			case intake.EditSteers:
				if text != "old" || more != "new" {
					t.Errorf("steers: %q, %q", text, more)
				}
			default:
				t.Errorf("%+v", a[0])
			}
			h.Commit(list[0].TurnRef, storetest.End("done", "answered"))
		}
	})
}

// What the platform tells of places where nobody is served opens no session; what a
// stranger took back is forgotten all the same.
func TestPlacesOfNobodyHaveNoSession(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		stranger := storetest.Stranger("s", "1")
		joined, left := storetest.Entry("j", "j", ""), storetest.Entry("l", "l", "")
		joined.Intent, joined.Event.Kind, joined.Event.Member = &intake.NewsIntent{}, channels.EventMember, channels.Joined
		left.Intent, left.Event.Kind, left.Event.Member = &intake.NewsIntent{}, channels.EventMember, channels.Left
		for i, e := range []intake.Entry{
			stranger, deleted("s", "1", "d1"), deleted("nowhere", "1", "d2"), joined, left, storetest.Moves("j", "k", "1"), storetest.Moves("x", "y", "2"),
			deleted("j", "1", "d3"), deleted("x", "1", "d4"),
		} {
			if a := h.One(e); a.SessionID != 0 || a.TurnID != 0 || a.Duplicate {
				t.Errorf("%d: %+v", i, a)
			}
		}
		for query, want := range map[string]int{
			"SELECT count(*) FROM sessions":                                     0,
			"SELECT count(*) FROM conversations WHERE conversation = 'nowhere'": 0,
			"SELECT count(*) FROM messages WHERE text <> ''":                    0,
			"SELECT count(*) FROM messages":                                     1,
		} {
			h.WantCount(want, query)
		}
	})
}

func TestDeletedMessageStopsItsTurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if a := h.One(deleted("c", "0", "d0")); a.TurnID != 0 || a.MessageID != 0 {
			t.Errorf("never taken: %+v", a)
		}
		ref := h.Begun("c", "1")
		queued := h.One(storetest.WithFile(storetest.Entry("c", "2", "two"), "f", 1))
		if a := h.One(deleted("c", "2", "d2")); a.TurnID != queued.TurnID || a.CancelTurn != 0 {
			t.Errorf("queued: %+v", a)
		}
		h.WantState(queued.TurnID, "cancelled")
		h.Exec("INSERT INTO recalled (kind, ref, scope, said_at, mark, words) SELECT 'message', id, 'person:marco', 1, 'x', 'hello' FROM messages WHERE platform_id = 'm1'",
			fmt.Sprintf("INSERT INTO recalled (kind, ref, scope, said_at, mark, words) VALUES ('result', %d, 'person:marco', 1, 'x', 'hello'), ('result', 999, 'person:marco', 1, 'x', 'hello')", ref.TurnID))
		if a := h.One(deleted("c", "1", "d1")); a.TurnID != ref.TurnID || a.CancelTurn != ref.TurnID {
			t.Errorf("running: %+v", a)
		}
		h.WantCount(1, "SELECT count(*) FROM recalled")
		if d := h.Load(ref); d.CancelRequested != core.StopCancelled || d.Turn.Message.Text != "" {
			t.Errorf("%+v", d)
		}
		h.Commit(ref, storetest.End("cancelled", "cancelled"))
		if a := h.One(deleted("c", "1", "again")); a.TurnID != 0 {
			t.Errorf("%+v", a)
		}

		// Of collected messages one is taken back: the others are answered.
		collected := h.Accept(storetest.Entry("c", "3", "three"), storetest.Mode(storetest.Entry("c", "4", "four"), "collect"))
		if a := h.One(deleted("c", "3", "d3")); a.TurnID != 0 {
			t.Errorf("%+v", a)
		}
		next := h.Claim(1)[0].TurnRef
		if d := h.Load(next); d.Turn.Message.Text != "four" || next.TurnID != collected[0].TurnID || len(d.State.Recent) != 0 {
			t.Errorf("%+v", d)
		}
		h.Commit(next, storetest.End("done", "answered"))
		both := h.Accept(storetest.Entry("c", "5", "five"), storetest.Mode(storetest.Entry("c", "6", "six"), "collect"), deleted("c", "5", "d5"), deleted("c", "6", "d6"))
		h.WantState(both[0].TurnID, "cancelled")
		h.WantCount(0, "SELECT count(*) FROM attachments WHERE state <> 'gone' OR name <> ''")
	})
}

func TestNotesAreReadByLaterTurns(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		waiting := h.One(storetest.Entry("c", "1", "first"))
		note := storetest.Entry("c", "2", "reacted with 👍")
		note.Intent, note.Event.Message.ID = &intake.AuditIntent{Why: intake.AuditNote}, ""
		a := h.One(note)
		if a.TurnID != 0 || a.MessageID == 0 || a.Event != 3 || a.SessionID != waiting.SessionID {
			t.Errorf("%+v", a)
		}
		ref := h.Claim(1)[0].TurnRef
		if d := h.Load(ref); len(d.State.Recent) != 1 || d.State.Recent[0].Text != "reacted with 👍" || d.State.Recent[0].Author != "marco" {
			t.Errorf("%+v", d.State.Recent)
		}
		if next := h.Commit(ref, agent.Step{End: &agent.End{State: "done"}}); next != nil {
			t.Errorf("next %+v", next)
		}
	})
}

// Every reply to an entry names whom it answers.
func TestReplyNamesItsPerson(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Commit(h.Begun("c", "1"), storetest.End("done", "answered"))
		late := storetest.Edited("c", "1", "e", "another text", "steer")
		late.Say = storetest.Says(map[intake.Outcome]*outbox.Reply{intake.EditTooLate: storetest.Text("too late")})
		h.One(late)
		h.One(storetest.Control(storetest.Entry("c", "2", "/help"), intake.EffectNone, "help"))
		h.Park(h.Begun("d", "3"), "d")
		asked := storetest.Edited("d", "3", "e3", "another text", "steer")
		asked.Say = storetest.Says(map[intake.Outcome]*outbox.Reply{intake.EditAsked: storetest.Text("I asked")})
		if a := h.One(asked); a.Outcome != intake.EditAsked || a.Edited != intake.EditRevised {
			t.Errorf("its turn waits: %+v", a)
		}
		h.WantCount(1, "SELECT count(*) FROM turns WHERE state = 'waiting'")
		asked = storetest.Edited("d", "3", "e4", "a third text", "steer")
		if a := h.One(asked); a.Outcome != "" {
			t.Errorf("a further edit: %+v", a)
		}
		h.WantCount(3, "SELECT count(*) FROM messages WHERE direction = 'out' AND person = 'marco'")
	})
}
