package ledger

// The rules by which a sender is let in or kept out, as they stand beside the message
// in the ledger; Admission says each in words.
const (
	RulePeople      = "people"              // the identity is somebody's
	RulePeopleHere  = "people.group"        // the same, in a group that is allowed
	RuleOpen        = "channel.open"        // whoever writes is let in there
	RuleMachine     = "machine"             // named by a program on this machine
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
