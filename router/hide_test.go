package router_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/internal/testkit"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
	"switchboard/router/turns"
	"switchboard/store/storetest"
)

func TestCredentialsInMessagesAreNeverKept(t *testing.T) {
	const core = "Zx81bqDkf03mNcTy72LpWvRs9aUoXh5GeJi4"
	each(t, func(t *testing.T, r *rig) {
		key, known := "gh"+"p_"+core, "known-value-of-old"
		var log testkit.Log
		var planned []string
		r.Log, r.Mask = &log, secrets.NewMasker(secrets.Secret(known))
		r.Channel.DM, r.Channel.Groups = "allowlist", "open"
		r.Brain.Think = func(_ context.Context, turn agent.Turn) (string, error) {
			planned = append(planned, fmt.Sprintf("%+v", turn))
			return "done with it", nil
		}
		r.Start()
		n := 0
		typed := func(user, text string, change func(*channels.Event)) channels.Receipt {
			n++
			e := routertest.Event(n, "c-"+user, user, text)
			if change != nil {
				change(&e)
			}
			return r.Accept(e)[0]
		}
		typed("ada", "use "+key+" or "+known+" for it", nil)
		r.Mentions(2, "")
		said := strings.Join(routertest.Texts(r.Platform.Sent()), "\n")
		if want := "I hid a secret that I know and an access token in your message"; strings.Count(said, want) != 1 || !strings.Contains(said, "switchboard secret set") {
			t.Errorf("said: %s", said)
		}
		for _, user := range []string{"ada", "eve"} { // who is served, and a stranger
			typed(user, "see the quote", func(e *channels.Event) { e.Message.Quote = "it is " + key })
			typed(user, "fwd "+key, func(e *channels.Event) { e.Message.Forwarded, e.Message.Origin = true, key })
			typed(user, "caption "+key, func(e *channels.Event) {
				e.Message.Attachments = []channels.Attachment{{ID: "f1", Kind: channels.Document, Name: key + ".txt", Type: "text/plain"}}
			})
			typed(user, "", func(e *channels.Event) { e.Sender.Label, e.Conversation.Title = key, "the group of "+key })
			typed(user, "use it: "+key, func(e *channels.Event) { e.Kind, e.Message.ID = channels.EventEdited, "m1" })
			typed(user, "a NUL \x00 and "+key, nil)
			typed(user, "", func(e *channels.Event) {
				e.Kind, e.Reason, e.Raw = channels.EventUndecodable, "unknown: "+key, []byte(`{"x":"`+key+`"}`)
			})
			typed(user, "/secret set NAME "+core, nil)
			typed(user, "/secret@bot NAME "+core, nil)
			typed(user, "/Secrets add NAME\n"+core, nil)
			typed(user, "/secret set NAME "+core, func(e *channels.Event) {
				e.Conversation.Kind, e.Conversation.ID, e.Message.Mentioned = channels.Group, "g1", true
			})
			typed(user, "hello", func(e *channels.Event) { e.Message.Quote = "/secret set NAME " + core })
			typed(user, "/config set channels.tg.token "+core, nil)
			typed(user, "/Config@bot set llm.providers.own.api_key = \""+core+"\"", nil)
			typed(user, "/config set llm.providers.own.headers.X-Auth env:OWN "+core, nil)
			typed(user, "/config server.internal_token "+core, nil)
			typed(user, "/config set channels.tg.token:\u00a0"+core, nil)
			typed(user, `/tool admin.config {"action":"set","key":"channels.tg.token","value":"`+core+`","version":null}`, nil)
			typed(user, "/TOOL `admin.config {\"value\": \""+core+"\", \"key\": \"server.internal_token\"}`", nil)
			typed(user, "/config set\nchannels.tg.kind telegram\nchannels.tg.webhook_secret env:HOOK\nchannels.tg.token "+core+"\n"+core, nil)
		}
		r.Until("all is answered", func() bool {
			list := r.Turns()
			return len(list) > 0 && !slices.ContainsFunc(list, func(turn turns.Turn) bool { return turns.TurnState(turn.State).Open() }) &&
				len(r.Deliveries(string(outbox.DeliveryPending))) == 0
		})
		r.End()
		if err := r.DB.EmptyLog(t.Context()); err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{
			"the database": storetest.Traces(t, r.DB), "the log": log.String(), "what was planned": strings.Join(planned, "\n"),
			"the platform": strings.Join(routertest.Texts(r.Platform.Sent()), "\n"), "the data folder": storetest.Files(t, r.Dir),
		} {
			if i := strings.Index(text, core[:12]); i >= 0 {
				t.Errorf("%s has the credential: %s", what, text[max(0, i-200):min(len(text), i+100)])
			}
			if i := strings.Index(text, known); i >= 0 {
				t.Errorf("%s has the secret that was known: %s", what, text[max(0, i-200):min(len(text), i+100)])
			}
		}
		if said := strings.Join(routertest.Texts(r.Platform.Sent()), "\n"); strings.Contains(said, "eve") {
			t.Errorf("a stranger was answered: %s", said)
		}
	})
}
