package sessions_test

import (
	"context"
	"testing"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels/channelstest/scripted"
)

// What a session has of its own is set by a command, holds from the next turn on, and goes
// back to the settings; where others take part only admins set it.
func TestSessionIsSetByCommands(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.Groups = "open"
		r.Usable = func(q tools.Question) []string {
			if q.Mode == "ask" {
				return []string{"clock.now"}
			}
			return []string{"clock.now", "workspace.write"}
		}
		r.Models, r.Summary = []string{"small"}, func(tool string) string { return "about " + tool }
		r.Brain.Think = func(_ context.Context, turn agent.Turn) (string, error) { return turn.Session.TimeZone, nil }
		r.Start()
		n := 0
		says := func(text string, parts ...string) {
			t.Helper()
			r.Platform.Say("c2", "bob", text)
			n++
			r.Mentions(n, parts...)
		}
		says("/tools", "in mode act:", "\n- clock.now – about clock.now\n- workspace.write")
		says("/mode", "Mode: act")
		says("/mode never", "There are two modes")
		says("/mode ask", "Mode: ask")
		says("/tools", "in mode ask:", "clock.now – about clock.now")
		says("/whoami", "Tools you may use here: clock.now.")
		says("/model", "The model here is test.", "small")
		says("/model large", "I have no model named large")
		says("/model small", "The model here is small")
		says("/status", "The model here is small.")
		says("/timezone", "The time zone here is Europe/Rome.") // of the settings: bob has none
		says("which is it for the model?", "Europe/Rome")
		says("/timezone Mars/Base", `"Mars/Base" is not a time zone; write an IANA name such as Europe/Rome. What time is it where you are?`)
		says("/timezone Europe/Rom", "did you mean Europe/Rome?")
		says("/timezone los angeles", "The time zone here is America/Los_Angeles")
		says("/timezone Asia/Tokyo", "The time zone here is Asia/Tokyo")
		says("and now?", "Asia/Tokyo")
		says("/timezone default", "The time zone here is Europe/Rome.")
		says("/timezone Asia/Tokyo", "The time zone here is Asia/Tokyo")
		says("/lang de", "Ab jetzt antworte ich hier auf Deutsch. Antworten auf Befehle und Bestätigungen von Erinnerungen bleiben englisch.")
		says("/help", "Diese Befehle gehen jederzeit:", "\n/mode `[ask|act]` – ob ich hier etwas ändern")
		says("/mode default", "Mode: act")
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "bob", Text: "/mode ask", Mentioned: true})
		n++
		r.Mentions(n, "only an admin can set that here")
		if found, err := r.Count("SELECT count(*) FROM sessions WHERE mode = '' AND model = 'small' AND language = 'de' AND timezone = 'Asia/Tokyo'"); err != nil || found != 1 {
			t.Errorf("%d sessions are set: %v", found, err)
		}
		if found, err := r.Count("SELECT count(*) FROM audit WHERE action LIKE 'session.%' AND person = 'bob'"); err != nil || found != 8 {
			t.Errorf("%d changes are in the audit log: %v", found, err)
		}
	})
}
