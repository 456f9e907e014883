package router

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
