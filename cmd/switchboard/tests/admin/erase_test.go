package admin_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/memory"
	"switchboard/store/storetest"
)

// Words of eve begin with "qe", those of tom with "qt": short, so that no page of a database breaks them.
var marked = regexp.MustCompile(`q[et]\d{3}`)

// minds is a model that learns, believes and sums up each such word, runs what it is told to and sends files back.
func minds(req llmtest.Request) llmtest.Reply {
	switch req.Schema {
	case "look":
		return llmtest.Reply{JSON: map[string]any{"learnings": append([]string{}, marked.FindAllString(req.Section("Messages"), -1)...)}}
	case "curate":
		verdicts := []any{}
		for n, word := range marked.FindAllString(req.Section("Learnings"), -1) {
			verdicts = append(verdicts, map[string]any{"learning": n + 1, "verdict": "promote", "kind": "fact", "text": "learned " + word, "category": nil, "key": nil, "replaces": nil, "reason": nil})
		}
		return llmtest.Reply{JSON: map[string]any{"verdicts": verdicts}}
	case "summary":
		return llmtest.Reply{JSON: map[string]any{"sentences": []string{"They spoke of " + strings.Join(marked.FindAllString(req.Section("Messages"), -1), " ")}}}
	}
	if req.Section("Attachments") != "" || req.Role == "worker" && strings.Contains(req.User, "attachment:") {
		return programtest.Filer(req)
	}
	return programtest.Clerk(req)
}

// Who is erased has no word left in any byte of the data folder, or of a dump of the database; what others said is there, and all go on.
func TestEraseLeavesNoByte(t *testing.T) {
	t.Parallel()
	const settings = "allow_conversations = [\"g1\"]\nfiles = 4\n[agent]\nplanner = \"fake/model\"\nsummarize_threshold = 6\n" +
		"[router]\nrate_person = \"off\"\nidle_timeout = \"300ms\"\n[policy.exec]\nask = [\"echo *\"]\n"
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		r := programtest.NewRig(t, []string{"eve", "tom"}, settings)
		r.Up()
		eraseOne(r, r.Query)
		r.Stop(20 * time.Second)
		noByte(t, filepath.Join(r.Dir, "data"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := storetest.MigratedURL(t)
		f := programtest.NewFleet(programtest.NewRig(t, []string{"eve", "tom"}, settings), url, "one", "two")
		f.Up()
		eraseOne(f.Rig, f.Query)
		f.Stop()
		noByte(t, filepath.Join(f.Dir, "data"))
		dump, err := exec.Command("pg_dump", "--dbname="+url).Output()
		if err != nil {
			t.Fatalf("pg_dump: %v", err)
		}
		if i := bytes.Index(dump, []byte("qe0")); i >= 0 {
			t.Errorf("the dump has %q", dump[max(0, i-100):i+20])
		}
		if !bytes.Contains(dump, []byte("qt001")) {
			t.Error("the dump has nothing of tom")
		}
	})
}

func noByte(t *testing.T, dir string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if i := bytes.Index(data, []byte("qe0")); i >= 0 {
			t.Errorf("%s has %q", path, data[max(0, i-100):i+20])
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func eraseOne(r *programtest.Rig, query func(string, ...any) [][]string) {
	t := r.T
	t.Helper()
	r.Model.Handle(minds)
	count := func(q string) string { return query(q)[0][0] }
	r.Ask("eve", "qe001 is mine")
	id := r.Platform.Newest("ceve", "eve")
	r.Platform.Edit("ceve", id, "qe002 was meant")
	r.Platform.Say("ceve", "eve", "run echo qe003")
	r.Await("a question", programtest.Patience, func() bool { return strings.Contains(strings.Join(r.Shown("eve"), "\n"), "echo qe003") })
	code := regexp.MustCompile("/approve [A-Z0-9]{4}-[A-Z0-9]{4}").FindString(strings.Join(r.Shown("eve"), "\n"))
	r.Platform.Say("ceve", "eve", code)
	r.Await("the command ran", programtest.Patience, func() bool { return strings.Contains(strings.Join(r.Shown("eve"), "\n"), "ran: echo qe003") })
	file := r.Platform.Upload(channels.Attachment{Kind: channels.Document, Name: "qe004.txt", Type: "text/plain"}, []byte("milk\nbread\nqe005\n"))
	r.Platform.Write(scripted.Message{Conversation: "ceve", User: "eve", Text: "qe006: send it back", Attachments: []channels.Attachment{file}})
	r.Await("the file comes back", programtest.Patience, func() bool {
		sent := r.Platform.SentIn("ceve")
		return len(sent) > 0 && len(sent[len(sent)-1].Files) > 0
	})
	r.Ask("eve", "/remember qe007 is blue")
	r.Ask("eve", "/remind tomorrow at 9 to call qe008")
	r.Ask("eve", "/private perhaps qe009")
	r.Ask("tom", "qt001 is mine")
	r.Ask("tom", "/remember qt002 is green")
	r.Ask("tom", "/remember Eve likes qt003")
	group := func(user, text, quote string, mentioned bool) {
		before := len(r.Platform.SentIn("g1"))
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", Mentioned: mentioned, User: user, Text: text, ReplyTo: r.Platform.Newest("g1", "eve"), Quote: quote})
		if mentioned {
			r.Await("an answer in the group", programtest.Patience, func() bool { return len(r.Platform.SentIn("g1")) > before })
		}
	}
	group("eve", "qe010 here", "", true)
	group("eve", "qe011 by the way", "", false)
	group("tom", "qt004 here, eve", "qe010 here", true)
	group("eve", "qe012 again", "", true)
	group("tom", "qt005 again", "qe010 here", true)
	const rests = "SELECT count(*) FROM sessions WHERE restless = TRUE"
	r.Await("all rests", programtest.Patience, func() bool {
		return count(rests) == "0" && count("SELECT count(*) FROM sessions WHERE summary LIKE '%qe%'") != "0" && count("SELECT count(*) FROM memories WHERE text LIKE 'learned qe%'") != "0"
	})

	out, errs, exit := r.Command("memory", "erase", "Eve", "--yes", "--json")
	var done memory.Erased
	if err := json.Unmarshal([]byte(out), &done); err != nil || exit != 0 {
		t.Fatalf("exit %d, %v\n%s%s", exit, err, out, errs)
	}
	// tom's two messages stay: one asked to remember something of her, the other speaks to her
	if done.Person != "eve" || done.Messages < 10 || done.Answers < 8 || done.Files != 2 || done.Jobs != 1 || done.Memories < 3 || done.Summaries == 0 || done.Naming != 2 || done.Prompts == 0 ||
		done.Unfinished != 0 {
		t.Errorf("%s", out)
	}
	for _, q := range []string{
		"SELECT count(*) FROM messages WHERE text = 'qt001 is mine'", "SELECT count(*) FROM memories WHERE text = 'qt002 is green' AND state = 'active'",
		"SELECT count(*) FROM messages WHERE text LIKE '/remember Eve likes qt003'", "SELECT count(*) FROM messages WHERE text LIKE 'qt004%'",
	} {
		if count(q) == "0" {
			t.Errorf("%s: nothing", q)
		}
	}
	if n := count("SELECT count(*) FROM memories WHERE text LIKE '%qt003%' AND text LIKE '%Eve%'"); n != "0" {
		t.Errorf("%s memories name her", n)
	}
	r.Prints("audit verify", 0, "")
	if said := r.Ask("eve", "hello again"); !strings.Contains(said, "heard: hello again") {
		t.Errorf("she reads %q", said)
	}
	group("tom", "qt006 goes on", "", true)
	r.Refuses("memory erase eve", 2, "--yes")
	r.Refuses("memory erase nobody --yes", 1, "there is nobody called")
}

// On a terminal it shows what there is, and asks for the name.
func TestEraseAsksForTheName(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	if _, errs, code := r.CommandWith("remember that qe001 is blue\n", "chat"); code != 0 {
		t.Fatal(errs)
	}
	s := programtest.OnTerminal(t, r, nil, "memory", "erase", "owner")
	s.Await(0, "1 message, 1 answer, 1 memory")
	s.Await(0, "Type owner to go on: ")
	s.Press("no\r")
	s.Await(0, "nothing is erased")
	<-s.Exited
	s = programtest.OnTerminal(t, r, nil, "memory", "erase", "owner")
	s.Await(0, "Type owner to go on: ")
	s.Await(s.Press("owner\r"), "Erased of owner: 1 message, 1 answer, 1 memory")
	s.Leaves()
	noByte(t, filepath.Join(r.Dir, "data"))
}
