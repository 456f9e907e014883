package outbox

// FrequentQueries are statements that every message or every poll runs, with the index that SQLite finds
// their rows by.
var FrequentQueries = map[string]string{
	headDelivery:      "d USING INDEX deliveries_open",
	listDrafts:        "d USING INDEX deliveries_drafts",
	shownTurns:        "t USING INDEX turns_shown",
	openChoices:       "a USING INDEX actions_open",
	uselessOf:         "deliveries USING INDEX deliveries_message",
	openConversations: "deliveries USING COVERING INDEX deliveries_open (channel=?)",
	adminChats:        "s USING INDEX sessions_person (person=?)",
}

// What engines poll.
const (
	OpenConversations = openConversations
	AdminChats        = adminChats
)
