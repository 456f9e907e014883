package turns

// Queries are statements that run again and again, by name, for those who look how a database runs them.
func Queries() map[string]string {
	return map[string]string{
		"headTurn":       headTurn,
		"countQueued":    CountQueued,
		"lastQueued":     lastQueued,
		"runningTurn":    runningTurn,
		"absorbable":     absorbable,
		"queuedToAbsorb": queuedToAbsorb,
		"shownMessages":  shownMessages,
		"loadMerged":     loadMerged,
		"heldSessions":   heldSessions,
		"loadMemories":   loadMemories,
		"loadTurn":       loadTurn,
		"loadRecent":     loadRecent,
		"claimable":      claimable,
	}
}
