package view

import "switchboard/router/ledger"

// Admission says in words why a message was taken or not; empty: the message is older
// than rules are kept.
func Admission(m *Message) string {
	identity, channel := m.Identity, m.Channel
	switch m.Rule {
	case ledger.RulePeople:
		return "let in, because the identity " + identity + " belongs to them in [[people]]"
	case ledger.RulePeopleHere:
		return "let in, because the identity " + identity + " belongs to them in [[people]], and [channels." + channel + "] allows the group"
	case ledger.RuleOpen:
		return "let in, because [channels." + channel + "] is open to everybody there"
	case ledger.RuleMachine:
		return "let in, because whoever runs the program on this machine may speak as anybody"
	case ledger.RuleBot:
		return "kept out, because another bot wrote it"
	case ledger.RuleUnnamed:
		return "kept out, because the platform does not say who wrote it"
	case ledger.RuleUnknown:
		return "kept out, because the identity " + identity + " belongs to nobody in [[people]]"
	case ledger.RuleNoPerson:
		return "kept out, because there is nobody of the name it was sent under"
	case ledger.RuleNoLonger:
		return "kept out, because the identity " + identity + " is known only from where everybody is let in"
	case ledger.RuleNotAllowed:
		return "kept out, because the group is not in allow_conversations of [channels." + channel + "]"
	case ledger.RuleDMDisabled:
		return "kept out, because [channels." + channel + "] has dm = \"disabled\""
	case ledger.RuleGroupsDisabled:
		return "kept out, because [channels." + channel + "] has groups = \"disabled\""
	case ledger.RuleNotMeant:
		return "left alone, because it was not said to the bot"
	}
	return ""
}
