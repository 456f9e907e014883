package people

import "switchboard/router/intake"

// Texts are what is said in outcomes that only a transaction knows.
var Texts = map[intake.Outcome]string{
	ClaimDone:      "Welcome! You are an admin here from now on, and the code is used up. Just write to me; /whoami says what you may do, and /help what I can.",
	ClaimWrong:     "There is no such code. \"switchboard person claim\", on the machine that I run on, prints one.",
	ClaimUsed:      "That code is no longer valid: it, or a newer one, has been used. \"switchboard person claim\", on the machine that I run on, prints another.",
	ClaimExpired:   "That code is too old. \"switchboard person claim\", on the machine that I run on, prints another.",
	ClaimNeedless:  "You are an admin already, so I did not use up the code: it still works for somebody else.",
	ClaimByFile:    "My settings file lists you, so only it says what you may do: write role = \"admin\" beside your name in [[people]].",
	PairingRefused: "Refused. I won't tell them. They get no new code for a day.",
	LinkWrong:      "That code is not valid. Write /link on your other account for a new one. A code works once, for ten minutes, and a newer one replaces it.",
	LinkSame:       "That code was made by you, and is for your other account: send it to me from there.",
	LinkByFile:     "My settings file lists you here, so I cannot link from this side. Write /link here, and send me the code from your other account.",
	LinkAdmin:      "You are an admin here, and this would end that. Write /link here, and send me the code from your other account.",
	LinkDone:       linkDone,
	LinkHalf:       "Confirmed here. Please confirm it on your other account too. After that I know you on both.",
	LinkAllowed:    linkJoined,
	LinkDenied:     "Denied, so I did nothing.",
}
