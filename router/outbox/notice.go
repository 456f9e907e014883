package outbox

// A NoticeKind is what the admins are notified of; [notify] says where each goes.
type NoticeKind string

const (
	NoticePairing        NoticeKind = "pairing"         // a stranger asks to be let in
	NoticeChannelDown    NoticeKind = "channel_down"    // its credential is rejected, or it is away for long
	NoticeDeadDelivery   NoticeKind = "dead_delivery"   // a part was given up, or a conversation is closed to us
	NoticeJobDisabled    NoticeKind = "job_disabled"    // it failed too often
	NoticeBudget         NoticeKind = "budget"          // a limit is reached, or nearly
	NoticeBrokenSettings NoticeKind = "broken_settings" // changed ones cannot be used, and the old ones stay
	NoticePersonAway     NoticeKind = "person_away"     // the settings file names somebody no more, or again
	NoticeDisk           NoticeKind = "disk"            // it is nearly full
	NoticeHealth         NoticeKind = "health"          // processors, memory, queue or deliveries are not well
)

// NoticeKinds are all kinds, for whoever checks a name. A test holds them to the constants, and the sample's comment to them.
var NoticeKinds = []NoticeKind{
	NoticePairing, NoticeChannelDown, NoticeDeadDelivery, NoticeJobDisabled, NoticeBudget, NoticeBrokenSettings,
	NoticePersonAway, NoticeDisk, NoticeHealth,
}
