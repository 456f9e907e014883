package router

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/router/commands"
	"switchboard/router/intake"
	"switchboard/router/people"
	"switchboard/router/settings"
)

// A typedSecret is what came with the command that sets a secret.
type typedSecret struct{ name, value string }

// secretCommand is "/secret", however it is spelled, and what follows it.
var secretCommand = regexp.MustCompile(`(?i)^\s*/secrets?(@\S+)?\s+(\S[\s\S]*)$`)

// settingCommand is "/config", also where "set" is forgotten. credentialLine is a line of it with a setting that is a
// credential, and what that is to be; reference is where one is kept, which is no secret.
var (
	settingCommand = regexp.MustCompile(`(?i)^\s*/config(@\S+)?\s`)
	credentialLine = regexp.MustCompile(`(?im)(?:^|[\s\x{a0}])[^\s\x{a0}]*(?:token|key|secret|\.headers\.[^\s\x{a0}=:]+)["']?[\s\x{a0}=:"']+(\S.*)$`)
	reference      = regexp.MustCompile(`^(?:env|file|secret):\S+\s*$`)
	// settingTool is the same by "/tool"; credentialKey and toolValue are in its arguments.
	settingTool   = regexp.MustCompile("(?i)^\\s*/tool(@\\S+)?\\s+`?admin\\.config\\b")
	credentialKey = regexp.MustCompile(`(?i)"key"\s*:\s*"[^"]*(?:token|key|secret|\.headers\.[^"]*)"`)
	toolValue     = regexp.MustCompile(`(?i)"value"\s*:\s*"([^"]*)`)
)

// withoutSecret is a text without the value that a command in it sets, which is typed.
// What follows the command may be a value wherever it is not spelled as it has to be.
func withoutSecret(text string) (string, typedSecret) {
	if settingCommand.MatchString(text) {
		for _, m := range credentialLine.FindAllStringSubmatchIndex(text, -1) {
			if !reference.MatchString(text[m[2]:m[3]]) { // nothing of it will be set
				return text[:m[2]] + people.Redacted, typedSecret{value: text[m[2]:]}
			}
		}
	}
	if settingTool.MatchString(text) && credentialKey.MatchString(text) {
		if m := toolValue.FindStringSubmatchIndex(text); m != nil && !reference.MatchString(text[m[2]:m[3]]) {
			return text[:m[2]] + people.Redacted, typedSecret{value: text[m[2]:m[3]]}
		}
	}
	m := secretCommand.FindStringSubmatch(text)
	if m == nil {
		return text, typedSecret{}
	}
	verb, rest := commands.FirstWord(m[2])
	name, value := commands.FirstWord(rest)
	kept := []string{"/secret"}
	var typed typedSecret
	switch strings.ToLower(verb) {
	case "set":
		typed = typedSecret{name, value}
		kept = append(kept, "set", name)
	case "list", "remove":
		kept = append(kept, strings.ToLower(verb), name)
	default:
		value = m[2]
	}
	if value != "" {
		kept = append(kept, people.Redacted)
	}
	return strings.TrimRight(strings.Join(kept, " "), " "), typed
}

// hide takes out of all that is kept of an event the value that its command sets, which it
// returns, the secrets that are known, and what has the shape of a credential. kinds says
// what the last two were.
func (r *Router) hide(e *channels.Event) (typed typedSecret, kinds []string) {
	m := &e.Message
	text, typed := withoutSecret(m.Text)
	m.Text = text
	m.Quote, _ = withoutSecret(m.Quote)
	texts := []*string{
		&m.Text, &m.Quote, &m.Origin, &e.Reason, &e.Sender.Label, &e.Conversation.Title, &e.Conversation.Place, &e.Conversation.Within,
	}
	for i := range m.Attachments {
		texts = append(texts, &m.Attachments[i].Name, &m.Attachments[i].Type)
	}
	for i := range m.Mentions {
		texts = append(texts, &m.Mentions[i].Label)
	}
	for _, text := range texts {
		kinds = append(kinds, r.hideIn(text)...)
	}
	for _, names := range [][]string{e.Reaction.Added, e.Reaction.Removed} {
		for i := range names {
			r.hideIn(&names[i])
		}
	}
	if len(m.Metadata) > 0 { // what only looks like a credential stays: it is to come back as it was
		m.Metadata = []byte(r.Mask.Text(string(m.Metadata)))
	}
	if len(e.Raw) > 0 {
		raw := string(e.Raw)
		if r.hideIn(&raw); raw != string(e.Raw) {
			e.Raw = []byte(raw)
		}
	}
	slices.Sort(kinds)
	return typed, slices.Compact(kinds)
}

// Hide is a text without the secrets that are known, and what has the shape of a credential.
func (r *Router) Hide(text string) string {
	r.hideIn(&text)
	return text
}

func (r *Router) hideIn(text *string) []string {
	known := r.Mask.Text(*text)
	masked, kinds := secrets.Hide(known)
	if known != *text {
		kinds = append(kinds, "a secret that I know")
	}
	*text = masked
	return kinds
}

// sayHidden has the person told what was hidden in their message, unless they are not
// answered at all.
func (e *classified) sayHidden(kinds []string) {
	switch as := e.Intent.(type) {
	case *intake.AuditIntent, *intake.NewsIntent:
		return
	case *intake.ControlIntent:
		if as.Refused && as.Reply == nil {
			return
		}
	}
	if len(kinds) == 0 || e.Sender.Person == "" {
		return
	}
	said := fmt.Sprintf("I hid %s in your message before I saved it. "+
		"To give me a secret safely, an admin uses \"switchboard secret set NAME\" on my machine, or /secret set in a direct chat.",
		strings.Join(kinds, " and "))
	e.aside = strings.TrimSpace(e.aside + "\n" + said)
}

// setsSecret says that a command sets a secret, so that what followed it is not merely hidden.
func setsSecret(control *intake.ControlIntent) bool {
	c, ok := control.Change.(*settings.SecretChange)
	return ok && c.Kind == settings.SetSecret
}
