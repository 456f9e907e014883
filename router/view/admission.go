package view

import (
	"strings"

	"switchboard/router/ledger"
)

// admissions are the rules in words.
var admissions = map[string]string{
	ledger.RulePeople:         "allowed, because the identity {identity} belongs to them",
	ledger.RulePeopleHere:     "allowed, because the identity {identity} belongs to them, and [channels.{channel}] allows the group",
	ledger.RuleOpen:           "allowed, because [channels.{channel}] is open to everybody there",
	ledger.RuleMachine:        "allowed, because the message came from the machine that the program runs on",
	ledger.RuleBot:            "kept out, because another bot wrote it",
	ledger.RuleUnnamed:        "kept out, because the platform does not say who wrote it",
	ledger.RuleClaim:          "allowed, because it brought a claim code",
	ledger.RuleLink:           "allowed, because it brought a link code",
	ledger.RuleJob:            "served, because a job of theirs was due",
	ledger.RuleUnknown:        "kept out, because the identity {identity} belongs to nobody",
	ledger.RuleNoPerson:       "kept out, because there is nobody of the name it was sent under",
	ledger.RuleNoLonger:       "kept out, because the identity {identity} is known only from where everybody is let in",
	ledger.RuleNotAllowed:     "kept out, because the group is not in allow_conversations of [channels.{channel}]",
	ledger.RuleDMDisabled:     "kept out, because [channels.{channel}] has dm = \"disabled\"",
	ledger.RuleGroupsDisabled: "kept out, because [channels.{channel}] has groups = \"disabled\"",
	ledger.RuleNotMeant:       "left alone, because it was not said to the bot",
	ledger.RuleTooEarly:       "not answered, because it was written before the bot's first start",
}

// Admission says in words why a message was taken or not; empty: the message is older
// than rules are kept.
func Admission(m *Message) string {
	return strings.NewReplacer("{identity}", m.Identity, "{channel}", m.Channel).Replace(admissions[m.Rule])
}
