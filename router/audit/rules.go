package audit

import (
	"strings"
)

// The rules by which a sender is let in or kept out, as they stand beside the message
// in the database; Admission says each in words.
const (
	RulePeople      = "people"              // the identity is somebody's
	RulePeopleHere  = "people.group"        // the same, in a group that is allowed
	RuleOpen        = "channel.open"        // whoever writes is let in there
	RuleMachine     = "machine"             // named by a program on this machine
	RuleToken       = "token"               // named by a program with an API token
	RuleBrowser     = "browser"             // signed in to the page
	RuleBot         = "sender.bot"          // another bot
	RuleUnnamed     = "sender.unnamed"      // the platform does not say who wrote
	RuleClaim       = "claim"               // a claim code made the sender an admin
	RuleLink        = "link"                // a link code made the sender the person who made it
	RuleSettings    = "settings"            // the settings name who is who
	RuleUnconfirmed = "settings.confirm_by" // a change of the settings that nobody confirmed is taken back
	RuleJob         = "job"                 // a job of the person's is due
	RuleApprover    = "role.admin"          // admins decide
	RuleUnknown     = "people.unknown"      // the identity is nobody's
	RuleNoPerson    = "person.unknown"      // there is no person of that name
	RuleNoLonger    = "channel.not_open"    // known only from where everybody is let in
	RuleNotAllowed  = "channel.allow_conversations"
	RuleNotMeant    = "channel.require_mention" // served, but did not speak to us
	RuleTooEarly    = "first_start"             // written before the bot was there

	RuleDMDisabled     = "channel.dm_disabled"
	RuleGroupsDisabled = "channel.groups_disabled"
)

// admissions are the rules in words.
var admissions = map[string]string{
	RulePeople:         "allowed, because the identity {identity} belongs to them",
	RulePeopleHere:     "allowed, because the identity {identity} belongs to them, and [channels.{channel}] allows the group",
	RuleOpen:           "allowed, because [channels.{channel}] is open to everybody there",
	RuleMachine:        "allowed, because the message came from the machine that the program runs on",
	RuleToken:          "allowed, because the API token may speak for them",
	RuleBrowser:        "allowed, because they are signed in to the page",
	RuleBot:            "kept out, because another bot wrote it",
	RuleUnnamed:        "kept out, because the platform does not say who wrote it",
	RuleClaim:          "allowed, because it brought a claim code",
	RuleLink:           "allowed, because it brought a link code",
	RuleJob:            "served, because a job of theirs was due",
	RuleUnknown:        "kept out, because the identity {identity} belongs to nobody",
	RuleNoPerson:       "kept out, because there is nobody of the name it was sent under",
	RuleNoLonger:       "kept out, because the identity {identity} is known only from where everybody is let in",
	RuleNotAllowed:     "kept out, because the group is not in allow_conversations of [channels.{channel}]",
	RuleDMDisabled:     "kept out, because [channels.{channel}] has dm = \"disabled\"",
	RuleGroupsDisabled: "kept out, because [channels.{channel}] has groups = \"disabled\"",
	RuleNotMeant:       "left alone, because it was not said to the bot",
	RuleTooEarly:       "not answered, because it was written before the bot's first start",
}

// Admission says in words why a message was taken or not; empty: the message is older
// than rules are kept.
func Admission(rule, identity, channel string) string {
	return strings.NewReplacer("{identity}", identity, "{channel}", channel).Replace(admissions[rule])
}
