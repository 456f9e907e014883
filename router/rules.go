package router

// The rules by which a sender is let in or kept out, as they stand beside the message
// in the ledger; Admission says each in words.
const (
	rulePeople     = "people"           // the identity is somebody's
	rulePeopleHere = "people.group"     // the same, in a group that is allowed
	ruleOpen       = "channel.open"     // whoever writes is let in there
	ruleMachine    = "machine"          // named by a program on this machine
	ruleBot        = "sender.bot"       // another bot
	ruleUnnamed    = "sender.unnamed"   // the platform does not say who wrote
	ruleUnknown    = "people.unknown"   // the identity is nobody's
	ruleNoPerson   = "person.unknown"   // there is no person of that name
	ruleNoLonger   = "channel.not_open" // known only from where everybody is let in
	ruleNotAllowed = "channel.allow_conversations"
	ruleNotMeant   = "channel.require_mention" // served, but did not speak to us

	ruleDMDisabled     = "channel.dm_disabled"
	ruleGroupsDisabled = "channel.groups_disabled"
)

// Admission says in words why a message was taken or not; empty: the message is older
// than rules are kept.
func Admission(m *MessageView) string {
	identity, channel := m.Identity, m.Channel
	switch m.Rule {
	case rulePeople:
		return "let in, because the identity " + identity + " belongs to them in [[people]]"
	case rulePeopleHere:
		return "let in, because the identity " + identity + " belongs to them in [[people]], and [channels." + channel + "] allows the group"
	case ruleOpen:
		return "let in, because [channels." + channel + "] is open to everybody there"
	case ruleMachine:
		return "let in, because whoever runs the program on this machine may speak as anybody"
	case ruleBot:
		return "kept out, because another bot wrote it"
	case ruleUnnamed:
		return "kept out, because the platform does not say who wrote it"
	case ruleUnknown:
		return "kept out, because the identity " + identity + " belongs to nobody in [[people]]"
	case ruleNoPerson:
		return "kept out, because there is nobody of the name it was sent under"
	case ruleNoLonger:
		return "kept out, because the identity " + identity + " is known only from where everybody is let in"
	case ruleNotAllowed:
		return "kept out, because the group is not in allow_conversations of [channels." + channel + "]"
	case ruleDMDisabled:
		return "kept out, because [channels." + channel + "] has dm = \"disabled\""
	case ruleGroupsDisabled:
		return "kept out, because [channels." + channel + "] has groups = \"disabled\""
	case ruleNotMeant:
		return "left alone, because it was not said to the bot"
	}
	return ""
}
