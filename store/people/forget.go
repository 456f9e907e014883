package people

// Conversations go with their sessions and the leases of these, once nothing is left in
// them and nothing names them: no job, and nothing in Retention.Named.
const (
	// ConversationOver: the instants are those up to which what was made for somebody who is not
	// served is old, and a session that was not used.
	ConversationOver = `
		(x.created_at <= ? OR EXISTS (SELECT 1 FROM sessions s WHERE s.conversation_id = x.id))
		AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.conversation_id = x.id AND (s.used_at > ?
			OR EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id)
			OR EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id)
			OR EXISTS (SELECT 1 FROM events e WHERE e.session_id = s.id)
			OR EXISTS (SELECT 1 FROM attachments a WHERE a.session_id = s.id)
			OR EXISTS (SELECT 1 FROM people p WHERE p.name = s.person AND p.role = 'admin')))
		AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id IS NULL AND m.conversation_id = x.id)
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.conversation_id = x.id)
		AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.conversation_id = x.id)
		AND NOT EXISTS (SELECT 1 FROM moved m WHERE m.conversation_id = x.id)`
	deleteTold  = `DELETE FROM notifications WHERE person = ?`
	DeleteKnown = `DELETE FROM memories WHERE person = ? AND person <> ''`
)
