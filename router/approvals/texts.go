package approvals

import "switchboard/router/intake"

// Texts are what is said in outcomes that only a transaction knows.
var Texts = map[intake.Outcome]string{
	Allowed:      "Allowed. I'll do it now.",
	Denied:       "Denied. I won't do it, and I'll say so in the chat that asked.",
	ByButton:     "A yes or no in words is not enough for this: please press the button, or write the command with the code that stands in the question.",
	Unknown:      "There is no question with that code in this chat. Write the code in the chat where I asked.",
	NotYours:     "Only admins may decide that.",
	Over:         "That question is not open any more: it was decided, nobody answered in time, or the work it was about was cancelled.",
	OwnTurn:      "A program does not decide about a turn that it started itself.",
	OnceOnly:     "That can be allowed once only, as the question says: write nothing after the code.",
	GrantRevoked: "Taken back: from now on I ask again.",
	GrantUnknown: "None of your permissions has that number. /grants lists them.",
}
