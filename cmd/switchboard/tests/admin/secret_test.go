package admin_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

func TestSecretsAreSetOnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	data := filepath.Join(r.Dir, "data")
	testkit.Write(t, r.Config, "data_dir = \""+data+"\"\n[llm.providers.x]\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"secret:model\"\n")
	const value = "canary-of-the-pipe-4711"
	gives := func(stdin, line string, code int, want string) {
		t.Helper()
		out, errs, got := r.CommandWith(stdin, strings.Fields(line)...)
		if got != code || !strings.Contains(out+errs, want) || strings.Contains(out+errs, "canary") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want %d, %q", line, got, out, errs, code, want)
		}
	}
	gives("", "config check", 2, `llm.providers.x.api_key: there is no secret "model"; set it with: switchboard secret set model`)
	gives("short", "secret set model", 1, "at least 6 characters")
	gives("some-value", "secret set a/b", 2, `"a/b" is no name of a secret`)
	gives(value+"\n", "secret set model --tool http.get", 0, "It is used by llm.providers.x.api_key.")
	gives("", "config check", 0, "the settings are fine")
	gives("", "secret list", 0, "http.get")
	gives("", "config show", 0, "(secret:model)")
	gives("", "secret remove model", 1, "model is used by llm.providers.x.api_key; change that first")
	gives("other-value", "secret set other", 0, "other is set")
	gives("", "secret remove other", 0, "other is taken away")
	gives("", "secret remove other", 1, "not found")
	key := filepath.Join(data, "secret.key")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	gives("", "config check", 0, "run chmod 600 "+key)
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	gives("", "config check", 0, "the key "+key+" is not there: put it back")
	gives("hello\n", "chat", 0, "") // everything else goes on
	written := storetest.Files(t, data)
	for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))[:20]} {
		if strings.Contains(written, form) {
			t.Errorf("%q is in the data folder", form)
		}
	}
}

// A secret is set, used by a channel, and rotated while the program runs: by the command line,
// and in the chat, where the message with it goes.
func TestChannelConnectsWithASecretThatIsSetAnew(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("tg", r.Bot, "secret:bot", "")
	sets := func(value string) {
		t.Helper()
		if out, errs, code := r.CommandWith(value+"\n", "secret", "set", "bot"); code != 0 || !strings.Contains(errs, "channels.tg.token") {
			t.Fatalf("exit %d, %q, %q", code, out, errs)
		}
	}
	first := r.Bot.Token()
	sets(first)
	r.Up()
	r.Bot.Say(r.Chief.ID, "one")
	r.Expect(r.Chief.ID, "heard: one")

	r.Bot.Login(nil) // another token; the former is good no more
	r.Bot.Say(r.Chief.ID, "two")
	sets(r.Bot.Token())
	r.Expect(r.Chief.ID, "heard: one", "heard: two")

	const typed = "canary-typed-in-telegram-4711"
	message := r.Bot.Say(r.Chief.ID, "/secret set other "+typed)
	r.Await("the message is deleted", 20*time.Second, func() bool {
		for _, m := range r.Bot.Messages(r.Chief.ID) {
			if m.ID == message.ID && !m.Deleted {
				return false
			}
		}
		return true
	})
	r.Await("it is answered", 20*time.Second, func() bool {
		return strings.Contains(strings.Join(r.Answers(r.Chief.ID), "\n"), "The secret other is set. I'm deleting your message")
	})
	r.Settle()
	log := r.Log.String()
	r.Stop(20 * time.Second)
	for _, value := range []string{first, r.Bot.Token(), typed} {
		_, part, _ := strings.Cut(value, ":")
		if part == "" {
			part = value
		}
		if files := r.Holds(part); len(files) > 0 || strings.Contains(log, part) || strings.Contains(strings.Join(r.Answers(r.Chief.ID), "\n"), part) {
			t.Errorf("%s is in %v, in the log or in the chat", value, files)
		}
	}
}

// The credential of the channel on which an admin sets it has to be confirmed there: a wrong one is taken back,
// and one that cannot be used at all cannot be confirmed.
func TestOwnChannelsSecretIsConfirmed(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("tg", r.Bot, "secret:bot", "")
	chief, good := r.Chief.ID, r.Bot.Token()
	if _, errs, code := r.CommandWith(good+"\n", "secret", "set", "bot"); code != 0 {
		t.Fatalf("exit %d, %q", code, errs)
	}
	r.Up()
	orders(r, chief, "hello", "heard: hello")
	undo := func() {
		t.Helper()
		if out, errs, code := r.Command("config", "undo"); code != 0 {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
	}
	r.Bot.Say(chief, "/secret set bot 4711:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	r.Await("it waits to be confirmed", 20*time.Second, func() bool {
		out, _, _ := r.Command("config", "versions")
		return strings.Contains(out, "secret bot") && strings.Contains(r.Log.String(), "secrets were set again")
	})
	r.Bot.Say(chief, "is anybody there?")
	undo()
	r.Await("the former one connects", 20*time.Second, func() bool {
		return slices.Contains(r.Answers(chief), "heard: is anybody there?")
	})
	orders(r, chief, "/secret set bot "+good, "Confirm it here within")
	r.Await("it counts", 20*time.Second, func() bool {
		r.Bot.Say(chief, "/config confirm")
		return strings.Contains(strings.Join(r.Answers(chief), "\n"), "Confirmed: version 2 stays")
	})
	orders(r, chief, "/config undo", "is left to take back")
	orders(r, chief, "/config undo 2", "The former value of the secret bot is gone; set it once more.")
	orders(r, chief, "still", "heard: still")
	r.Stop(20 * time.Second)
}
