package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/agent"
	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

// A question is put once, where its turn does not fail; in the next turns of that chat it may be answered, once, and what was answered is
// sure and kept.
func TestAQuestionIsPutOnceAndAnsweredOnce(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		m := learned("x", "x")
		m.says["curate"] = verdicts(map[string]any{"learning": 1, "verdict": "promote", "kind": "fact", "text": "Ada likes tea."})
		n, session := 0, int64(0)
		turn := func(state string, plans ...agent.PlanRow) {
			n++
			ref := h.Accept(storetest.Claiming(storetest.By(storetest.Entry("c1", fmt.Sprint("q", n), "hello"), "ada")))[0].Claimed.TurnRef
			session = ref.SessionID
			for i := range plans {
				plans[i].Attempt = i
				h.Commit(ref, agent.Step{Plan: &plans[i]})
			}
			h.Commit(ref, storetest.End(state, "x"))
		}
		known := func(session int64) string {
			known, err := k.Recall(k.Context(), direct("ada", "tg", session), "hello")
			if err != nil {
				k.Fatal(err)
			}
			out := ""
			for _, e := range known.Of(memory.Question) {
				out += "open " + e.Text
			}
			for _, e := range known.Asked {
				out += "asked " + e.Text
			}
			return out
		}
		want := func(when, here, elsewhere string) {
			k.Helper()
			if got, there := known(session), known(99); got != here || there != elsewhere {
				k.Errorf("%s: %q here, %q elsewhere; want %q, %q", when, got, there, here, elsewhere)
			}
		}
		asks := func(text string) int64 {
			c, rule := k.write(&routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}, memory.Entry{Kind: memory.Question, Text: text})
			if rule != "" {
				k.Fatal(rule)
			}
			return c.Entry.ID
		}
		q := asks("Tea?")
		turn("done")
		want("at first", "open Tea?", "open Tea?")
		turn("failed", agent.PlanRow{Question: q})
		want("put in vain", "open Tea?", "open Tea?")
		turn("done", agent.PlanRow{Question: q}, agent.PlanRow{Question: q, Answer: "in the same turn"})
		want("put", "asked Tea?", "")
		turn("done", agent.PlanRow{Question: q, Answer: "Asked “Tea?”, ada answered: yes"}, agent.PlanRow{Question: q, Answer: "again"})
		turn("done", agent.PlanRow{Question: q, Answer: "again"}, agent.PlanRow{Question: q})
		want("answered", "", "")
		if got := rows(h, "SELECT kind || ' ' || state || ' ' || source || ' ' || text AS line FROM memories ORDER BY id"); got != "question answered  Tea?\nlearning pending answer Asked “Tea?”, ada answered: yes" {
			k.Errorf("remembered:\n%s", got)
		}
		h.WantCount(0, "SELECT count(*) FROM recalled WHERE kind = 'memory'")
		h.Exec("UPDATE sessions SET looked_to = 1000")
		rest(h, resting(h, m))
		h.WantCount(1, "SELECT count(*) FROM memories WHERE kind = 'fact' AND source = 'answer' AND kept = TRUE AND confidence = 1 AND scope = 'person:ada' AND text = 'Ada likes tea.'")
		for _, req := range m.asked {
			if req.Schema.Name == "curate" && !strings.Contains(req.User, "Asked “Tea?”, ada answered: yes") {
				k.Errorf("the curator reads\n%s", req.User)
			}
		}
		q = asks("Milk?")
		turn("done", agent.PlanRow{Question: q})
		for _, shown := range []string{"asked Milk?", "asked Milk?", "asked Milk?", "asked Milk?", ""} { // three turns may answer it: a turn counts itself
			want("later", shown, "")
			turn("done")
		}
	})
}

// A search brings what was said, summaries and what tools brought besides memories, with who said it, when and where; what comes from
// elsewhere taints. Nothing of before the last reset, nor of others' chats.
func TestSearchFindsWhatWasSaid(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		r := resting(h, learned("x", "Of a zeppelin that is green."))
		says(h, "c1", "my zeppelin is red", "two", "three", "four", "five", "six")
		h.Accept(storetest.By(storetest.Entry("c2", "b", "bob's zeppelin is secret"), "bob"))
		h.Exec("UPDATE turns SET state = 'done', finished_at = 1 WHERE state IN ('queued', 'running')",
			"INSERT INTO plans (turn_id, attempt, goal, created_at) VALUES (1, 0, '', 1)",
			"INSERT INTO tasks (turn_id, attempt, position, type, tool, detail, state, output, taint, created_at) VALUES (1, 0, 0, 'tool', 'web.fetch', '', 'done', 'a zeppelin is long', 'web', 1)",
			"INSERT INTO reviews (turn_id, attempt, position, status, reason, learn, taint, created_at) VALUES (1, 0, 0, 'ok', '', '', 'web', 1)")
		rest(h, r)
		k.write(&routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}, memory.Entry{Kind: memory.Fact, Text: "the zeppelin has a name", Session: "tg:c1"})
		search := func(which string) tools.Result {
			return k.Search(k.Context(), tools.Call{Session: tools.Session{ID: "tg:c1", Person: "ada"}}, tools.Remembered{Which: which})
		}
		got := search("zeppelin")
		for _, want := range []string{"the zeppelin has a name (fact, ", "message of ada: my zeppelin is red (this chat)", "summary of ada: Of a zeppelin that is green. (this chat)", "result of ada: a zeppelin is long (this chat)"} {
			if !strings.Contains(got.Output, want) {
				k.Errorf("%q is not found:\n%s", want, got.Output)
			}
		}
		if strings.Contains(got.Output, "secret") || !strings.Contains(string(got.Taint), "web") {
			k.Errorf("taint %q:\n%s", got.Taint, got.Output)
		}
		if got = search("red"); got.Taint != tools.Clean || !strings.Contains(got.Output, "red") {
			k.Errorf("what is clean taints by %q:\n%s", got.Taint, got.Output)
		}
		// By itself comes what is clean, and no summary of the chat itself.
		if told := k.shown(direct("ada", "slack", 99), "where is my zeppelin?"); !strings.Contains(told, "red") || !strings.Contains(told, "green") || !strings.Contains(told, "name") || strings.Contains(told, "long") {
			k.Errorf("elsewhere it is told\n%s", told)
		}
		if told := k.shown(direct("ada", "tg", 1), "where is my zeppelin?"); strings.Contains(told, "green") {
			k.Errorf("in the chat itself it is told\n%s", told)
		}
		h.Exec("UPDATE sessions SET private = 'on'")
		if got = search("zeppelin"); !strings.HasPrefix(got.Output, "This chat is private: ") || strings.Count(got.Output, "\n") != 1 {
			k.Errorf("in private it finds\n%s", got.Output)
		}
		h.Exec("UPDATE sessions SET private = '', reset_message = 1000, reset_turn = 1000 WHERE id = 1", "DELETE FROM recalled WHERE kind = 'summary'")
		if got = search("zeppelin"); strings.Contains(got.Output, "red") || strings.Contains(got.Output, "long") || !strings.Contains(got.Output, "name") {
			k.Errorf("after the reset it finds\n%s", got.Output)
		}
	})
}

// However often its words were said, a fact is found, and leaves room for what was said.
func TestMessagesDoNotPushFactsOut(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		at := direct("ann", "tg", 1)
		k.do(func(t *database.Tx) error {
			for i := range 200 {
				if err := stored.Index(t, stored.Indexed{Record: memory.OfResult, Ref: int64(1000 + i), Scope: at.Own(), Text: "when does the deploy key rotate?"}); err != nil {
					return err
				}
			}
			return nil
		})
		k.write(&routermemory.Writer{Person: "ann", Place: at}, memory.Entry{Kind: memory.Fact, Text: "the deploy key rotates on Fridays"})
		if told := k.shown(at, "when does the deploy key rotate?"); !strings.Contains(told, "Fridays") {
			k.Errorf("it is told\n%s", told)
		}
		for i := range 60 {
			k.write(&routermemory.Writer{Person: "ann", Place: at}, memory.Entry{Kind: memory.Fact, Text: fmt.Sprintf("the deploy key number %d rotates as it is wont to do", i)})
		}
		h := storetest.NewHouse(k.T, k.db)
		says(h, "c1", "when does the deploy key rotate on my boat?")
		h.Exec("UPDATE messages SET person = 'ann'", "UPDATE sessions SET person = 'ann'")
		rest(h, resting(h, &model{}))
		if told := k.shown(direct("ann", "slack", 99), "when does the deploy key on my boat rotate?"); !strings.Contains(told, "rotates as it") || !strings.Contains(told, "my boat") {
			k.Errorf("with many facts it is told\n%s", told)
		}
	})
}

// What was put together can be taken apart by who may change it, for thirty days.
func TestUndoByCommand(t *testing.T) {
	t.Parallel()
	gathered(t, func(k *keeper, _ map[string]*routermemory.Writer) {
		storetest.Exec(k.T, k.db,
			"INSERT INTO memories (id, kind, scope, text, state, person, source, created_at, updated_at) VALUES (90, 'fact', 'group:tg:g', 'both', 'active', '', 'merge', 1, 1)",
			"INSERT INTO memories (id, kind, scope, text, state, person, source, superseded_by, created_at, updated_at) VALUES (91, 'fact', 'group:tg:g', 'one', 'superseded', 'ann', 'said', 90, 1, 1), (92, 'fact', 'group:tg:g', 'two', 'superseded', 'bob', 'said', 90, 1, 1)")
		label := func() (list string) {
			for _, b := range k.gives("cleo", "memory 90").Buttons {
				list += b.Command + ";"
			}
			return list
		}
		if list := label(); strings.Contains(list, "undo") {
			k.Errorf("after 30 days there is %s", list)
		}
		if answer := k.gives("cleo", "memory undo 90"); !strings.Contains(answer.Text, "nothing to undo") {
			k.Errorf("%+v", answer)
		}
		storetest.Exec(k.T, k.db, fmt.Sprintf("UPDATE memories SET created_at = %d WHERE id = 90", database.Micros(k.Now())))
		if list := label(); !strings.Contains(list, "memory undo 90;") {
			k.Errorf("there is %s", list)
		}
		if answer := k.gives("ann", "memory undo 90"); !strings.Contains(answer.Text, "nothing like") {
			k.Errorf("%+v", answer)
		}
		if answer := k.gives("cleo", "memory undo 90"); answer.Text != "Undone. I remember these again:\n- two\n- one" {
			k.Errorf("%+v", answer)
		}
		if n, err := storetest.Count(k.Context(), k.db, "SELECT count(*) FROM memories m JOIN recalled r ON r.kind = 'memory' AND r.ref = m.id WHERE m.state = 'active' AND m.id IN (91, 92)"); err != nil || n != 2 {
			k.Errorf("%d are there, %v", n, err)
		}
		if answer := k.gives("cleo", "memory undo 91"); !strings.Contains(answer.Text, "nothing to undo") {
			k.Errorf("%+v", answer)
		}
	})
}

// answers writes what we say last in the chat of tool.
func (k *keeper) answers(text string) {
	k.Helper()
	storetest.Exec(k.T, k.db, fmt.Sprintf(`INSERT INTO messages (conversation_id, session_id, direction, class, text, notice, created_at)
		SELECT conversation_id, id, 'out', 'reply', '%s', TRUE, 1 FROM sessions WHERE key = 'tg:chat'`, strings.ReplaceAll(text, "'", "''")))
}

// "Forget it" is what our last message spoke of, and nothing else that was kept before.
func TestForgetItIsWhatWasSpokenOf(t *testing.T) {
	t.Parallel()
	gathered(t, func(k *keeper, in map[string]*routermemory.Writer) {
		ids := map[string]int64{}
		for _, text := range []string{"Anna likes tea", "Anna likes green tea", "the cellar key hangs on the nail", "my sister lives in Bari", "🚀", "I like C++"} {
			c, _ := k.write(in["ann"], memory.Entry{Kind: memory.Fact, Text: text, Session: "tg:chat", Source: routermemory.Said, Kept: true})
			ids[text] = c.Entry.ID
		}
		c, _ := k.write(in["bob"], memory.Entry{Kind: memory.Fact, Text: "the weekly standup of the web team is on Monday", Session: "tg:chat", Source: routermemory.Said})
		k.write(in["ann"], memory.Entry{Kind: memory.Preference, Category: "style", Key: "length", Text: "short", Session: "tg:chat", Source: routermemory.Said})
		k.write(in["ann"], memory.Entry{Kind: memory.Fact, Text: "the weekly standup of the web team is on Friday", Session: "tg:chat", Source: routermemory.Said})
		for _, tt := range []struct{ last, meant string }{
			{"", ""},
			{"I can't do that without a language model.", ""},
			{"- 3. the cellar key hangs on the nail (said, 1 May 2026)", "the cellar key hangs on the nail"},
			{"You told me on 1 May 2026: Anna likes tea", "Anna likes tea"},
			{"I'll remember: Anna likes green tea", "Anna likes green tea"},
			{"**Facts**\n- 3. the cellar key hangs on the nail (said in this chat (a thread), 1 May 2026)\n\nForget: /memory forget 3", "the cellar key hangs on the nail"},
			{"Got it, your sister lives in Bari!", "?my sister lives in Bari"},
			{"Bari is at the sea. Many live there, as your sister.", ""},
			{"Here is a short summary: sales are up", ""},
			{"Forgotten: Anna likes green tea", ""},
			{"Forgotten: my brother lives in Bari", ""},
			{"- 3: the cellar key hangs on the nail\n- 4: my sister lives in Bari", ""},
			{"I'll remember: " + c.Entry.Text, ""}, // it is another's
			{"🚀", ""},
		} {
			if tt.last != "" {
				k.answers(tt.last)
			}
			deed := k.DescribeForget(k.Context(), tool("ann"), tools.Remembered{})
			if tt.meant == "" {
				if deed.Refused == nil || !strings.Contains(deed.Refused.Output, "Which one?") {
					k.Errorf("after %q: %+v", tt.last, deed)
				}
			} else if text, asks := strings.CutPrefix(tt.meant, "?"); deed.Words != fmt.Sprintf("forget memory %d: %s", ids[text], text) || deed.AskedIn("forget it") == asks {
				k.Errorf("after %q: %+v, want %s", tt.last, deed, tt.meant)
			}
		}
		storetest.Exec(k.T, k.db, "UPDATE sessions SET reset_message = (SELECT max(id) FROM messages)")
		if deed := k.DescribeForget(k.Context(), tool("ann"), tools.Remembered{}); deed.Refused == nil {
			k.Errorf("after a reset: %+v", deed)
		}
		// Whole words of one are meant before what holds them too.
		k.write(in["ann"], memory.Entry{Kind: memory.Fact, Text: "I like C", Session: "tg:chat", Source: routermemory.Said})
		for _, which := range []string{"Anna likes tea.", "anna likes tea", "I like C++", "I like C"} {
			deed := k.DescribeForget(k.Context(), tool("ann"), tools.Remembered{Which: which})
			if deed.Refused != nil || !strings.HasSuffix(deed.Words, ": "+map[bool]string{true: "Anna likes tea", false: which}[which[1] == 'n']) {
				k.Errorf("%s: %+v", which, deed)
			}
		}
	})
}

// Words and kinds mean all that has them, however much that is.
func TestForgetTakesAllOfThem(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		w := &routermemory.Writer{Person: "ann", Place: direct("ann", "tg", 1)}
		for i := range 80 {
			k.write(w, memory.Entry{Kind: memory.Fact, Text: fmt.Sprintf("apples of box %d are red", i)})
		}
		k.write(w, memory.Entry{Kind: memory.Preference, Category: "style", Key: "length", Text: "short"})
		k.write(w, memory.Entry{Kind: memory.Rule, Category: "style", Text: "be brief"})
		if got := k.alone("ann", "forget apples"); !strings.Contains(got, "Forgotten: 80 memories") {
			k.Error(got)
		}
		if got := k.alone("ann", "forget style length"); !strings.Contains(got, "Forgotten: style, length") {
			k.Error(got)
		}
		if got := k.alone("ann", "rules"); !strings.Contains(got, "be brief") {
			k.Error(got)
		}
	})
}

// A name is found however its accents are written, and in no other word.
func TestNaming(t *testing.T) {
	t.Parallel()
	names := routermemory.Naming([]string{"zoë", "Ada+1", "太郎", "山田 花子", "林", "민수", "ee"})
	for text, want := range map[string]bool{
		"Zoe\u0308's bike": true, "ask ZOË": true, "Zoëlle": false, "Ada+1 came": true, "Ada+12": false, "": false, "xeee ee": true, "eee": false,
		"毎週金曜は太郎の当番": true, "zoëは金曜に来る": true, "zoëlleは来る": false, "山田 花子さんの番": true, "森林": false, "ask 林": true, "민수가 금요일에": true,
	} {
		if names(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// An archive says where a memory comes from in words that are known.
func TestImportKnowsTaints(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		const archive = `{"version":1,"memories":[{"kind":"fact","scope":"person:ann","person":"ann","text":"tea","taint":"\u001b[31mred"},
			{"kind":"fact","scope":"person:ann","person":"ann","text":"milk","taint":"file"}]}`
		done, err := k.Import(k.Context(), []byte(archive), core.Actor{Rule: "operator"})
		if err != nil || done.Added != 1 || len(done.Refused) != 1 || !strings.Contains(done.Refused[0], `memory 1 of the file: I do not know what "\x1b[31mred" is`) {
			k.Errorf("%+v, %v", done, err)
		}
	})
}
