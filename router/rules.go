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
