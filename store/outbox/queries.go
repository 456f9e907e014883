package outbox

// Queries are statements that run again and again, by name, for those who look how a database runs them.
func Queries() map[string]string {
	return map[string]string{
		"headDelivery":      headDelivery,
		"listDrafts":        listDrafts,
		"shownTurns":        shownTurns,
		"openChoices":       openChoices,
		"uselessOf":         uselessOf,
		"openConversations": openConversations,
		"adminChats":        adminChats,
	}
}
