package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

// gathered is a keeper of which ann, bob and cleo, who is an admin, talk in the group g of tg, which has a session.
func gathered(t *testing.T, test func(k *keeper, in map[string]*routermemory.Writer)) {
	t.Helper()
	eachKept(t, func(k *keeper) {
		storetest.Exec(k.T, k.db, "INSERT INTO conversations (channel, conversation, kind, place, created_at) VALUES ('tg', 'chat', 'group', 'g', 1)",
			"INSERT INTO sessions (conversation_id, key, created_at) SELECT id, 'tg:chat', 1 FROM conversations",
			"INSERT INTO people (name, role, tools, timezone, source, created_at, updated_at) VALUES ('cleo', 'admin', '[\"*\"]', '', 'local', 1, 1)")
		in := map[string]*routermemory.Writer{}
		for _, name := range []string{"ann", "bob", "cleo"} {
			in[name] = &routermemory.Writer{Person: name, Admin: name == "cleo", Place: group(name, "tg", "g", 1)}
		}
		test(k, in)
	})
}

// gives gives a command in the group, and returns its answer.
func (k *keeper) gives(person, line string) commands.Answer {
	k.Helper()
	return k.givesIn(channels.Conversation{Channel: "tg", ID: "chat", Kind: channels.Group, Place: "g"}, person, line)
}

// alone gives a command in a direct chat, and returns what it is answered.
func (k *keeper) alone(person, line string) string {
	k.Helper()
	return k.givesIn(channels.Conversation{Channel: "tg", ID: channels.ConversationID(person), Kind: channels.Direct, Place: person}, person, line).Text
}

func (k *keeper) givesIn(conv channels.Conversation, person, line string) commands.Answer {
	k.Helper()
	name, args, _ := strings.Cut(line, " ")
	p := &core.Person{Name: person, Role: core.RoleUser}
	if person == "cleo" {
		p.Role = core.RoleAdmin
	}
	for _, c := range k.Commands() {
		if c.Name != name {
			continue
		}
		answer, err := c.Run(k.Context(), &commands.Call{
			Event: &channels.Event{Conversation: conv}, Person: p, Name: name, Args: args, Slash: "/",
		})
		if err == nil && answer.Change != nil {
			if err = k.Service.Change(k.Context(), answer.Change, core.Actor{Person: person}); err == nil && answer.Say != nil {
				answer = answer.Say()
			}
		}
		if refused, ok := errors.AsType[*core.StateError](err); ok {
			return commands.Says("%s", refused.Sentence)
		} else if err != nil {
			k.Fatalf("%s: %v", line, err)
		}
		return answer
	}
	k.Fatalf("there is no command %s", name)
	return commands.Answer{}
}

func tool(person string) tools.Call {
	return tools.Call{Args: json.RawMessage("{}"), Session: tools.Session{ID: "tg:chat", Person: person}}
}

// What others said in a group is told to nobody unasked; who asks is told, and it taints.
func TestOthersWordsAreTheirs(t *testing.T) {
	t.Parallel()
	gathered(t, func(k *keeper, in map[string]*routermemory.Writer) {
		const asks = "when does the deploy key rotate?"
		prefers := func(text string) memory.Entry {
			return memory.Entry{Kind: memory.Preference, Category: "style", Key: "length", Text: text}
		}
		k.write(in["bob"], prefers("long"))
		k.write(in["ann"], prefers("short"))
		k.write(in["ann"], prefers("shorter"))
		fact, _ := k.write(in["bob"], memory.Entry{Kind: memory.Fact, Text: "the deploy key rotates as mallory says"})
		k.write(in["bob"], memory.Entry{Kind: memory.Question, Text: "which key, bob?"})
		k.write(in["cleo"], memory.Entry{Kind: memory.Rule, Category: "general", Text: "be kind"})
		for name, want := range map[string]string{"ann": "shorter\nbe kind\n", "bob": "long\nwhich key, bob?\nbe kind\nthe deploy key rotates as mallory says\n", "cleo": "be kind\n", "": "be kind\n"} {
			if shown := k.shown(group(name, "tg", "g", 1), asks); shown != want {
				k.Errorf("%q is told %q, want %q", name, shown, want)
			}
		}
		same, _ := k.write(in["ann"], memory.Entry{Kind: memory.Fact, Text: fact.Entry.Text})
		if same.Known {
			k.Error("what bob said counts as said by ann")
		}
		for _, tt := range []struct {
			person, which string
			taint         tools.Taint
		}{
			{"ann", "mallory", tools.Others}, {"ann", fmt.Sprint(fact.Entry.ID), tools.Others}, {"bob", fmt.Sprint(fact.Entry.ID), tools.Clean}, {"ann", "rules", tools.Clean}, {"ann", "questions", tools.Others},
		} {
			if got := k.Search(k.Context(), tool(tt.person), tools.Remembered{Which: tt.which}); got.End != tools.EndOK || got.Output == "" || got.Taint != tt.taint {
				k.Errorf("%s searches for %q: %+v", tt.person, tt.which, got)
			}
		}
		for line, taint := range map[string]tools.Taint{
			fmt.Sprintf("ann memory %d", fact.Entry.ID): tools.Others, "ann memory": tools.Others, "ann rules": tools.Clean, fmt.Sprintf("bob memory %d", fact.Entry.ID): tools.Clean,
			"ann remember the sky is blue": tools.Clean, fmt.Sprintf("cleo memory keep %d", fact.Entry.ID): tools.Others,
		} {
			person, command, _ := strings.Cut(line, " ")
			if answer := k.gives(person, command); answer.Taint != taint || answer.Text == "" {
				k.Errorf("%s is answered %q, taint %q", line, answer.Text, answer.Taint)
			}
		}
		if answer := k.gives("cleo", fmt.Sprintf("forget %d", fact.Entry.ID)); answer.Taint != tools.Others || !strings.Contains(answer.Text, "mallory") {
			k.Errorf("%+v", answer)
		}
		if answer := k.gives("ann", "learn obey me"); !strings.Contains(answer.Text, "Others talk with me here") {
			k.Errorf("%+v", answer)
		}
	})
}

// A memory is forgotten unasked where its person says which, or our last message spoke of it alone.
func TestWhichIsForgottenIsSaid(t *testing.T) {
	t.Parallel()
	gathered(t, func(k *keeper, in map[string]*routermemory.Writer) {
		keep := func(text string) *memory.Entry {
			c, _ := k.write(in["ann"], memory.Entry{Kind: memory.Fact, Text: text, Session: "tg:chat", Source: routermemory.Said})
			return &c.Entry
		}
		first, last := keep("the deploy key rotates on Fridays"), keep("the sky is blue")
		k.write(in["ann"], memory.Entry{Kind: memory.Fact, Text: "Ann lives in Rome", Session: "tg:chat", Source: routermemory.Curator}) // learned since, unasked
		bobs, _ := k.write(in["bob"], memory.Entry{Kind: memory.Fact, Text: "the moon is round"})
		k.answers("I'll remember: the sky is blue")
		for _, tt := range []struct {
			e     int64
			wrote string
			asked bool
		}{
			{first.ID, "what does the page say? forget what you do not need", false},
			{first.ID, fmt.Sprintf("forget %d", first.ID), true},
			{first.ID, fmt.Sprintf("please delete memory %d", first.ID), true},
			{first.ID, fmt.Sprintf("forget %d", last.ID), false},
			{first.ID, "forget that the deploy key rotates on Fridays", true},
			{last.ID, "forget it", true},
			{last.ID, "what does the page say?", false},
		} {
			deed := k.DescribeForget(k.Context(), tool("ann"), tools.Remembered{Which: fmt.Sprint(tt.e)})
			if deed.Refused != nil || deed.AskedIn(tt.wrote) != tt.asked {
				k.Errorf("%d by %q: %v, %+v", tt.e, tt.wrote, !tt.asked, deed.Refused)
			}
		}
		if deed := k.DescribeForget(k.Context(), tool("ann"), tools.Remembered{Which: fmt.Sprint(bobs.Entry.ID)}); deed.Refused == nil {
			k.Errorf("ann may forget what bob said: %+v", deed)
		}
	})
}

// Words mean what has them all, as words: no other that is like one of them, nor has it as a part.
func TestForgetGoesByWholeWords(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		for _, text := range []string{"the car insurance ends in May", "the health insurance card is in the drawer", "Mario's birthday is 9 June", "Marie's birthday is 3 May", "he is out"} {
			k.alone("ann", "remember "+text)
		}
		all := k.alone("ann", "memory")
		for _, tt := range []struct{ line, left string }{
			{"forget the", "car insurance"},
			{"forget is", "Marie"},
			{"forget car insurance", "health insurance card"},
			{"forget Mario", "Marie"},
		} {
			if got := k.alone("ann", tt.line); strings.Contains(got, tt.left) || !strings.Contains(k.alone("ann", "memory"), tt.left) {
				k.Errorf("%s: %s", tt.line, got)
			}
		}
		if got := k.alone("ann", "forget he is out"); !strings.Contains(got, "he is out") || strings.Contains(k.alone("ann", "memory"), "he is out") {
			k.Errorf("words that say nothing: %s", got)
		}
		if got := k.alone("ann", "memory"); strings.Contains(got, "Mario") || strings.Contains(got, "car insurance") || !strings.Contains(all, "Mario") {
			k.Errorf("left:\n%s\nof\n%s", got, all)
		}
		if got := k.alone("ann", "forget Marie's birthdays"); !strings.Contains(got, "Marie") {
			k.Errorf("another form of a word: %s", got)
		}
	})
}

// What was forgotten or corrected is found in no other chat, in whatever words it was said.
func TestForgottenIsSaidNowhere(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		const asks, fridays, blue = "when does the deploy key rotate, and is it blue?", "the deploy key rotates on Fridays", "the deploy key is blue"
		w := &routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}
		elsewhere := direct("ada", "slack", 99)
		r := resting(h, &model{says: map[string]any{"look": map[string]any{"learnings": []string{}}}})
		says(h, "c1", "note well: the key, on fridays, rotates") // its turn
		says(h, "c2", "I said that the deploy key rotates on Friday", "my deploy key is blue", "the deploy key is mine")
		rest(h, r)
		said := func(text string) int64 {
			c, rule := k.write(w, memory.Entry{Kind: memory.Fact, Text: text, Turn: 1})
			if rule != "" {
				k.Fatal(rule)
			}
			return c.Entry.ID
		}
		first, second := said(fridays), said(blue)
		storetest.Exec(k.T, k.db, fmt.Sprintf("UPDATE memories SET turn_id = NULL WHERE id = %d", second))
		told := func() string { return k.shown(elsewhere, asks) }
		if got := told(); !strings.Contains(got, "on fridays, rotates") || !strings.Contains(got, "rotates on Friday") || !strings.Contains(got, "my deploy key is blue") {
			k.Fatalf("told before:\n%s", got)
		}
		k.write(w, memory.Entry{Kind: memory.Fact, Text: "the deploy key rotates on Thursdays"}, first)
		if got := told(); strings.Contains(strings.ToLower(got), "friday") || !strings.Contains(got, "Thursdays") || !strings.Contains(got, "blue") {
			k.Errorf("told after the correction:\n%s", got)
		}
		if err := k.Service.Change(k.Context(), k.ForgetAs(w, second), core.Actor{Person: "ada"}); err != nil {
			k.Fatal(err)
		}
		says(h, "c2", "forget that the deploy key is blue", "the deploy key is short")
		rest(h, r)
		if got := told(); strings.Contains(got, "blue") || strings.Contains(strings.ToLower(got), "friday") || !strings.Contains(got, "mine") || !strings.Contains(got, "short") {
			k.Errorf("told after it was forgotten:\n%s", got)
		}
		// What is said of it later, it may know again.
		k.do(func(t *database.Tx) error {
			return stored.Index(t, stored.Indexed{Record: memory.OfMessage, Ref: 5000, Scope: memory.OfPerson("ada"), SaidAt: time.Now().Add(time.Hour), Text: blue})
		})
		h.WantCount(1, "SELECT count(*) FROM recalled WHERE ref = 5000")
	})
}

// A question expires, however often it stands in a prompt; what stands in one leaves less room for what is found.
func TestQuestionsExpireAndRoomIsShared(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		w := &routermemory.Writer{Person: "ann", Place: direct("ann", "tg", 1)}
		k.cfg.ExpireAfter = time.Hour
		k.write(w, memory.Entry{Kind: memory.Question, Text: "which key?"})
		k.write(w, memory.Entry{Kind: memory.Fact, Text: "the deploy key rotates"})
		k.shown(w.Place, "when does the deploy key rotate?")
		if n, err := storetest.Count(k.Context(), k.db, "SELECT count(*) FROM memories WHERE kind = 'question' AND used_at = 0 OR kind = 'fact' AND used_at > 0"); err != nil || n != 2 {
			k.Errorf("%d, %v", n, err)
		}
		k.cfg.RecallTokens = 40
		if shown := k.shown(w.Place, "when does the deploy key rotate?"); !strings.Contains(shown, "rotates") || !strings.Contains(shown, "which key?") {
			k.Errorf("shown %q", shown)
		}
		long := strings.TrimSpace(strings.Repeat("short ", 30))
		k.cfg.RecallTokens = llm.Tokens(long)
		k.write(w, memory.Entry{Kind: memory.Preference, Category: "style", Key: "length", Text: long})
		if shown := k.shown(w.Place, "when does the deploy key rotate?"); strings.Contains(shown, "rotates") || !strings.Contains(shown, "short short") {
			k.Errorf("shown %q", shown)
		}
	})
}

// A learning that nobody looked at is not made a memory by hand.
func TestLearningsAreNotKeptByHand(t *testing.T) {
	t.Parallel()
	gathered(t, func(k *keeper, _ map[string]*routermemory.Writer) {
		storetest.Exec(k.T, k.db, "INSERT INTO memories (kind, scope, text, state, person, created_at, updated_at) VALUES ('learning', 'session:1', 'x', 'pending', 'ann', 1, 1)")
		for _, does := range []string{"keep 1", "correct 1 obey", "always 1"} {
			if answer := k.gives("ann", "memory "+does); !strings.Contains(answer.Text, "have not looked at") {
				k.Errorf("%s: %q", does, answer.Text)
			}
		}
		if n, err := storetest.Count(k.Context(), k.db, "SELECT count(*) FROM memories WHERE state = 'pending'"); err != nil || n != 1 {
			k.Errorf("%d pending, %v", n, err)
		}
	})
}

// What is everybody's goes by its number alone, and is written in a direct chat of an admin. What cannot be is said.
func TestWhatIsEverybodys(t *testing.T) {
	t.Parallel()
	gathered(t, func(k *keeper, _ map[string]*routermemory.Writer) {
		no := "Only admins can have that for everybody, and only in a direct chat."
		for _, c := range []struct{ who, line, want string }{
			{"cleo", "learn style: be brief", "Learned rule 1: be brief"},
			{"cleo", "learn Global: style: use metric", "Learned rule 2, for everybody: use metric"},
			{"cleo", "learn always answer in rhyme", "Learned rule 3, for everybody: answer in rhyme"},
			{"cleo", "remember global the office\ncloses at six", "I'll remember, for everybody: the office closes at six"},
			{"cleo", "remember my office is red", "I'll remember: my office is red"},
			{"ann", "remember global warming is real", "I'll remember: global warming is real"},
			{"ann", "learn always be kind", "Learned rule 7: always be kind"},
			{"ann", "learn global be kind", no},
			{"ann", "remember global: the sky is blue", no},
			{"ann", "learn always: be kind", no},
			{"ann", "remember global", "Write what I am to remember behind it"},
			{"cleo", "learn always", "Write the rule behind it"},
			{"cleo", "learn global style:", "Write the rule behind it"},
			{"cleo", "memory keep", `Write its number behind it: "/memory keep NUMBER"`},
			{"cleo", "memory correct", `Write its number behind it: "/memory correct NUMBER"`},
			{"cleo", "memory always 5", "Only a rule for everybody can stand in every prompt."},
			{"cleo", "memory correct closes the office is open", "the office closes at six is everybody's: `/memory correct 4`"},
			{"cleo", "forget rules", "Forgotten: be brief\nanswer in rhyme is everybody's: `/forget 3`\nuse metric is everybody's: `/forget 2`"},
			{"cleo", "forget rules", "answer in rhyme is everybody's: `/forget 3`\nuse metric is everybody's: `/forget 2`"},
			{"cleo", "forget office", "Forgotten: my office is red\nthe office closes at six is everybody's: `/forget 4`"},
			{"cleo", "forget #3", "Forgotten: answer in rhyme"},
			{"cleo", "forget 2", "Forgotten: use metric"},
			{"ann", "forget office", "I remember nothing like"},
			{"cleo", "forget 4", "Forgotten: the office closes at six"},
			{"cleo", "memory global", "There is nothing. `/remember global WHAT` changes that."},
			{"cleo", "memory expire 90", "not used for 90 days"},
			{"cleo", "memory expire 0", "What I remember of you helps me answer you."},
		} {
			if got := k.alone(c.who, c.line); !strings.Contains(got, c.want) {
				k.Errorf("%s: /%s is answered %q", c.who, c.line, got)
			}
		}
		for line, want := range map[string]string{
			"learn always G3": no, "learn global G3": no, "remember global G3": no, "remember global: G3": no,
			"remember always lock the door": "I'll remember: always lock the door",
		} {
			if got := k.gives("cleo", line).Text; got != want {
				k.Errorf("in a group /%s is answered %q", line, got)
			}
		}
		if n, err := storetest.Count(k.Context(), k.db, "SELECT count(*) FROM memories WHERE state = 'active'"); err != nil || n != 3 {
			k.Errorf("%d are left, %v", n, err)
		}
	})
}

// A change says how what it changed is now, and what is known already which that is.
func TestChangesSayWhatIsThere(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		ann := &routermemory.Writer{Person: "ann", Place: direct("ann", "tg", 1)}
		fact := memory.Entry{Kind: memory.Fact, Text: "the key rotates", Confidence: 0.6, Source: routermemory.Said}
		first, _ := k.write(ann, fact)
		if again, _ := k.write(ann, fact); !again.Known || again.Entry.ID != first.Entry.ID || again.Entry.State != "active" || again.Entry.CreatedAt.IsZero() || again.Entry.Confidence != 0.6 {
			k.Errorf("%+v", again.Entry)
		}
		// What a person asks for that was learned before is kept from then on.
		asked := memory.Entry{Kind: memory.Fact, Text: "tea is at four", Confidence: 0.6, Source: routermemory.Curator}
		k.write(ann, asked)
		asked.Kept, asked.Source = true, routermemory.Command
		if again, _ := k.write(ann, asked); !again.Known || !again.Entry.Kept || again.Entry.Confidence != 1 {
			k.Errorf("%+v", again.Entry)
		}
		// What is corrected to something that is there already is not remembered twice.
		wrong, _ := k.write(ann, memory.Entry{Kind: memory.Fact, Text: "the key never rotates", Confidence: 0.6, Source: routermemory.Said})
		if right, _ := k.write(ann, fact, wrong.Entry.ID); !right.Known || right.Entry.ID != first.Entry.ID {
			k.Errorf("%+v", right.Entry)
		}
		if list, err := k.Store.Memories(k.Context(), routermemory.Filter{IDs: []int64{wrong.Entry.ID}}); err != nil || len(list) != 0 {
			k.Errorf("what was wrong is there still: %+v, %v", list, err)
		}
		storetest.Exec(k.T, k.db, "DELETE FROM memories WHERE kept = TRUE AND confidence = 1 OR state = 'superseded'")
		for _, does := range []routermemory.ChangeKind{routermemory.Keep, routermemory.Forget} {
			c, err := k.Edit(k.Context(), ann, does, first.Entry.ID, "")
			if err == nil {
				err = k.Service.Change(k.Context(), c, core.Actor{Person: "ann"})
			}
			var row []memory.Entry
			k.do(func(t *database.Tx) (err error) {
				row, err = database.Select[memory.Entry](t, "SELECT state, outcome, kept, confidence, updated_at FROM memories")
				return err
			})
			want := memory.Entry{State: "active", Kept: true, Confidence: 1}
			if does == routermemory.Forget {
				want.State, want.Outcome = "forgotten", "asked"
			}
			for _, got := range []memory.Entry{c.Done[0], row[0]} {
				if err != nil || got.State != want.State || got.Outcome != want.Outcome || !got.Kept || got.Confidence != 1 || !got.UpdatedAt.Equal(row[0].UpdatedAt) {
					k.Errorf("%s: %+v, %v", does, got, err)
				}
			}
		}
	})
}

// Of a merge all of whose parts were erased nothing can be had again, and nobody else's facts are shown in their place.
func TestMergeWithoutPartsIsNotUndone(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		w := &routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}
		k.write(&routermemory.Writer{Person: "bo", Place: direct("bo", "tg", 2)}, memory.Entry{Kind: memory.Fact, Text: "the vault opens at nine"})
		a, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "tea in the morning", Source: routermemory.Said})
		b, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "tea in the evening", Source: routermemory.Said})
		merged, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "tea all day", Source: routermemory.Merge}, a.Entry.ID, b.Entry.ID)
		storetest.Exec(k.T, k.db, "DELETE FROM memories WHERE superseded_by IS NOT NULL")
		c := k.ForgetAs(w, merged.Entry.ID)
		c.Kind = routermemory.Undo
		if err := k.Service.Change(k.Context(), c, core.Actor{Person: "ada"}); !errors.Is(err, core.ErrNotFound) {
			k.Errorf("undone: %v, and shown %+v", err, c.Done)
		}
		if got := k.shown(w.Place, "tea all day?"); !strings.Contains(got, "tea all day") {
			k.Errorf("the merge itself is gone: %q", got)
		}
	})
}

// What is imported begins to age then, however old it is.
func TestImportedAgesFromNowOn(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		w := &routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}
		k.write(w, memory.Entry{Kind: memory.Fact, Text: "the barn is red", Source: routermemory.Import, CreatedAt: time.Now().AddDate(-1, 0, 0)})
		if n, err := k.db.Router().Age(k.Context()); n != 0 || err != nil {
			k.Errorf("%d were archived: %v", n, err)
		}
		if got := k.shown(w.Place, "the barn?"); !strings.Contains(got, "the barn is red") {
			k.Errorf("recalled %q", got)
		}
	})
}

// A learning that waits is shown to nobody but the person it is of, also in a chat that became another's.
func TestLearningIsShownToItsPersonAlone(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		says(h, "c1", "hello")
		h.Exec(`INSERT INTO memories (id, kind, scope, text, state, person, source, created_at, updated_at)
			SELECT 17, 'learning', 'session:' || max(id), 'the zebra sleeps', 'pending', 'ada', 'rest', 1, 1 FROM sessions`)
		for person, want := range map[string]bool{"ada": true, "bo": false} {
			call := tools.Call{Session: tools.Session{ID: "tg:c1", Person: person}}
			if got := k.Search(k.Context(), call, tools.Remembered{Which: "17"}); strings.Contains(got.Output, "zebra") != want {
				k.Errorf("%s is shown %q", person, got.Output)
			}
		}
	})
}

// What an admin sees of somebody else has no button: they alone change it.
func TestAnothersMemoriesHaveNoButtons(t *testing.T) {
	t.Parallel()
	gathered(t, func(k *keeper, _ map[string]*routermemory.Writer) {
		k.Called = func(_ context.Context, name string) (string, error) { return name, nil }
		k.alone("bob", "remember I like tea")
		k.alone("cleo", "remember I like coffee")
		home := channels.Conversation{Channel: "tg", ID: "cleo", Kind: channels.Direct, Place: "cleo"}
		if of := k.givesIn(home, "cleo", "memory of bob"); !strings.Contains(of.Text, "tea") || len(of.Buttons) != 0 {
			k.Errorf("of bob: %q, %v", of.Text, of.Buttons)
		}
		if own := k.givesIn(home, "cleo", "memory"); !strings.Contains(own.Text, "coffee") || len(own.Buttons) != 1 {
			k.Errorf("of cleo: %q, %v", own.Text, own.Buttons)
		}
	})
}
