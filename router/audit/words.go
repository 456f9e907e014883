package audit

import (
	"maps"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/core"
)

// done say what somebody did, by the action. “%” stands for what it was done to, without its kind.
var done = map[string]string{
	"turn":            "asked for answer %",
	"turn.cancel":     "stopped answer %",
	"message.refused": "a message of % was refused",

	"browser.signin": "signed in %", "browser.signout": "signed out %", "browser.link": "made a sign-in link for %",

	"session.reset": "had me forget %", "session.read": "read what others said in %", "session.mode": "changed the mode of %", "session.model": "changed the model of %",
	"session.language": "changed the language of %", "session.timezone": "changed the time zone of %",

	"job.add": "made job %", "job.edit": "changed job %", "job.pause": "paused job %", "job.resume": "resumed job %", "job.remove": "removed job %",
	"job.skip": "skipped the next run of job %", "job.run": "ran job %", "job.snooze": "snoozed job %", "notification.read": "read their notifications",

	"person.add": "let in %", "person.role": "changed the role of %", "person.link": "added an account of %", "person.unlink": "took an account off %",
	"person.tools": "changed the tools of %", "person.remove": "removed %", "person.join": "joined another account with %",
	"person.claim": "% became an admin by a code", "person.open": "% was let in by an open channel",
	"person.away": "the settings file does not name % any more", "person.back": "the settings file names % again", "claim.make": "made a claim code",

	"config.set": "changed the settings %", "config.confirm": "confirmed a change of the settings %", "config.take_back": "took back the settings %",
	"config.lapse": "a change of the settings % lapsed", "config.file": "the settings file changed: %",
	"secret.set": "stored the secret %", "secret.remove": "removed the secret %", "token.create": "made the API token %", "token.revoke": "revoked the API token %",

	"delivery.retry": "sent message part % again", "delivery.drop": "gave up message part %", "delivery.resend": "had messages sent again in %",

	"tool.ask": "needed a permission, question %", "tool.refused": "might not use %", "pairing.ask": "asked to be let in, question %", "link.ask": "asked to link an account, question %",
	"approval.accepted": "allowed question %", "approval.rejected": "denied question %", "approval.confirm": "confirmed question %", "approval.expired": "nobody answered question %",
	"grant.revoke": "took back standing permission %", "audit.prune": "old rows of this log were removed",
}

// Did says what the row is about, and how it ended where that is not clear.
func (r *Record) Did() string {
	text := did(r, channels.Conversation{})
	if end := end(r); end != "" {
		text += ": " + end
	}
	return text
}

// Actions are those that have words, in order.
func Actions() []string { return slices.Sorted(maps.Keys(done)) }

// did says what a row of the log is about, to somebody who reads it in here.
func did(r *Record, here channels.Conversation) string {
	text, ok := done[r.Action]
	if !ok {
		return strings.TrimSpace(r.Action + " " + r.Target)
	}
	kind, name, spaced := strings.Cut(r.Target, " ")
	switch {
	case kind == "session" || kind == "conversation":
		name = core.ChatWords(core.OfSession(name), here)
	case !spaced, r.Action == "tool.refused", strings.HasPrefix(kind, "browser"):
		name = r.Target
	}
	return strings.TrimSpace(strings.Replace(text, "%", name, 1))
}

// end says how it ended, where that is not clear: what was refused, and the end of an answer.
func end(r *Record) string {
	switch {
	case r.Action == "turn":
		return words.Ended(r.Outcome, r.Why)
	case r.Outcome == "refused" && r.Why != "":
		return "refused, " + r.Why
	case r.Outcome == "refused":
		return "refused"
	}
	return r.Why
}
