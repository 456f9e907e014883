package platforms_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/intake"
	"switchboard/store/storetest"
)

// Messages written over ten minutes are handed in at once when the program starts, and
// then some more while the database is gone for seconds. With the default rate of a
// person each is answered, and nobody is told to be slower.
func TestTelegramBacklogIsNotTooFast(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	r := &programtest.TelegramRig{Slow: programtest.NewSlowModel(), Bot: telegramtest.New(t)}
	r.Rig = programtest.NewRig(t, nil, fmt.Sprintf("[store]\nurl = %q\n[agent]\nplanner = \"fake/model\"\n", server.URL()))
	r.Model.Handle(r.Slow.Think)
	ada := r.Bot.AddUser("Ada")
	r.Admit("user", ada)
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")

	r.Up()
	r.Stop(10 * time.Second)
	programtest.RowsOf(t, "postgres", server.URL(), "UPDATE owners SET started_at = 0 RETURNING id") // the bot is no new one
	var want []string
	say := func() {
		text := fmt.Sprint("message ", len(want))
		r.Bot.Say(ada.ID, text)
		want = append(want, "heard: "+text)
	}
	answered := func(what string) {
		r.T.Helper()
		r.Await(what, 60*time.Second, func() bool { // the last may be shown before it is whole
			got := r.Answers(ada.ID)
			return len(got) >= len(want) && got[len(want)-1] == want[len(want)-1]
		})
		for i, got := range r.Answers(ada.ID) {
			if i >= len(want) || got != want[i] {
				t.Fatalf("answer %d is %q", i, got)
			}
		}
	}
	for i := range 25 {
		r.Bot.SetClock(func() time.Time { return time.Now().Add(time.Duration(i-25) * 24 * time.Second) })
		say()
	}
	r.Bot.SetClock(time.Now)
	r.Up()
	answered("what was written before the start is answered")
	server.Stop()
	for range 15 {
		say()
	}
	time.Sleep(3 * time.Second) // it is handed in some times meanwhile
	server.Start()
	answered("what was written during the outage is answered")
}

// One message that the database does not take, for whatever reason, makes the bot deaf
// to nobody, though it is the only one at first.
func TestTelegramMessageThatCannotBeTakenDelaysNoOther(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Up()
	r.Bot.Say(r.Chief.ID, "first")
	r.Expect(r.Chief.ID, "heard: first")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.Dir, "data", "switchboard.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TRIGGER odd BEFORE INSERT ON messages WHEN NEW.text = 'odd' BEGIN SELECT RAISE(ABORT, 'odd'); END"); err != nil {
		t.Fatal(err)
	}
	r.Bot.Say(r.Chief.ID, "odd")
	time.Sleep(500 * time.Millisecond)
	if n := len(r.Bot.Pending()); n != 1 {
		t.Errorf("%d updates wait: nobody knows yet whose fault it is", n)
	}
	r.Bot.Say(r.Chief.ID, "last")
	r.Expect(r.Chief.ID, "heard: first", "heard: last")
	if kept := programtest.List[[]intake.Rejected](r.Rig, "channel", "rejected", "--json"); len(kept) != 1 || kept[0].Raw != "odd" {
		t.Errorf("kept as rejected: %+v", kept)
	}
}
