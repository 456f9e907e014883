package store_test

import (
	"fmt"
	"slices"
	"testing"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/store/storetest"
)

// keptOut is a message of somebody who is not served.
func keptOut(conv, key, text string) intake.Entry {
	e := entry(conv, key, text)
	e.Intent, e.Sender.Person, e.Sender.Identity, e.Sender.Rule = &intake.AuditIntent{Why: intake.AuditStranger}, "", "tg:9", "people.unknown"
	return e
}

// A batch of strangers' messages, and of such as were overheard, with a turn among them,
// is stored as if each had come alone: once, in its place and in order.
func TestManyKeptOutAtOnceAreStoredAsIfAlone(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		titled := func(e intake.Entry, title string) intake.Entry {
			e.Event.Conversation.Title = title
			return e
		}
		h.Accept(titled(keptOut("s1", "known", "from before"), "Eve"))
		h.Accept(keptOut("old", "1", "in a place that moves"))
		h.Accept(moves("old", "new", "1"))
		h.gone(h.Hold(), "s1")

		heard := titled(keptOut("g", "heard", "not for the bot"), "Group")
		heard.Intent, heard.Event.Conversation.Kind, heard.Taint = &intake.AuditIntent{Why: intake.AuditOverheard}, channels.Group, tools.Taint("group")
		heard.Event.Message.ReplyTo, heard.Event.Message.Quote, heard.Event.Message.Forwarded, heard.Event.Message.Origin = "m0", "said before", true, "Mallory"
		heard.Event.Message.Attachments = []channels.Attachment{
			{ID: "f1", Kind: "photo", Name: "a.png", Type: "image/png", Size: 7}, {ID: "f2", Kind: "document", Name: "b\x00.txt"},
		}
		batch := []intake.Entry{
			titled(keptOut("s1", "a", "first"), "Eve"), titled(keptOut("s1", "b", "renamed"), "Eva"), keptOut("s1", "c", "no title told"),
			keptOut("s1", "a", "told twice in one batch"), keptOut("s1", "known", "told before"), heard,
			claiming(entry("c", "turn", "hello")),
			keptOut("old", "d", "under the former ID"), keptOut("s2", "e", "a new\x00 place"), keptOut("s2", "a", "told twice, elsewhere"),
		}
		out := h.Accept(batch...)
		var last int64
		for i, a := range out {
			duplicate := i == 3 || i == 4 || i == 9
			if a.Duplicate != duplicate || (a.MessageID == 0) != duplicate || a.MessageID != 0 && a.MessageID <= last {
				t.Errorf("entry %d: %+v after message %d", i, a, last)
			}
			if turn := i == 6; turn != (a.Claimed != nil) || turn != (a.SessionID != 0) {
				t.Errorf("entry %d: %+v", i, a)
			}
			last = max(last, a.MessageID)
		}
		for _, again := range [][]intake.Entry{batch[:6], batch[7:]} {
			if out := h.Accept(again...); slices.ContainsFunc(out, func(a intake.Accepted) bool { return !a.Duplicate }) {
				t.Errorf("told again: %+v", out)
			}
		}
		const in = "SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE "
		for query, want := range map[string]int{
			in + "c.conversation = 's1' AND c.title = 'Eva' AND c.gone_at = 0":                                                4,
			in + "c.conversation = 'new' AND m.text = 'under the former ID'":                                                  1,
			in + "c.conversation = 's2' AND m.class = 'stranger' AND m.rule = 'people.unknown' AND m.text LIKE 'a new%place'": 1,
			in + `c.conversation = 'g' AND c.kind = 'group' AND c.title = 'Group' AND m.class = 'overheard' AND m.author = 'Marco P.' AND m.identity = 'tg:9'
				AND m.platform_id = 'mheard' AND m.reply_to = 'm0' AND m.quote = 'said before' AND m.outside = TRUE AND m.forwarded_from = 'Mallory'
				AND m.taint = 'group' AND m.attachments = 2 AND m.happened_at = 1700000000000000 AND m.session_id IS NULL AND m.turn_id IS NULL`: 1,
			"SELECT count(*) FROM attachments a JOIN messages m ON m.id = a.message_id WHERE m.text = 'not for the bot' AND a.session_id IS NULL AND a.taint = 'group'": 2,
			"SELECT count(*) FROM attachments WHERE position = 0 AND platform_id = 'f1' AND kind = 'photo' AND name = 'a.png' AND type = 'image/png' AND size = 7":      1,
			"SELECT count(*) FROM attachments WHERE position = 1 AND platform_id = 'f2' AND name LIKE 'b%.txt'":                                                         1,
			"SELECT count(*) FROM conversations": 5,
			"SELECT count(*) FROM messages":      9,
			"SELECT count(*) FROM sessions":      1,
		} {
			h.wantCount(want, query)
		}
	})
}

// Hundreds at once, many of one place.
func TestHundredsKeptOutAtOnceKeepTheirOrder(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var batch []intake.Entry
		for i := range 500 {
			batch = append(batch, keptOut(fmt.Sprint("s", i%70), fmt.Sprint(i), fmt.Sprint("text ", i)))
		}
		out := h.Accept(batch...)
		for i := range out {
			if i > 0 && out[i].MessageID <= out[i-1].MessageID {
				t.Fatalf("entry %d is message %d, the one before %d", i, out[i].MessageID, out[i-1].MessageID)
			}
			if n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE m.id = ? AND m.text = ? AND c.conversation = ?",
				out[i].MessageID, fmt.Sprint("text ", i), fmt.Sprint("s", i%70)); n != 1 || err != nil {
				t.Fatalf("entry %d is not message %d: %v", i, out[i].MessageID, err)
			}
		}
	})
}
