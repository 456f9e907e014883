package turns_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"switchboard/store/database"
	"switchboard/store/storetest"
	"switchboard/store/turns"
)

// notBlotted are the columns of texts and bytes in which nobody's words about a turn stand, by why.
var notBlotted = map[string]string{
	"names and IDs of platforms, as they label people, places and files": `
		attachments.platform_id attachments.type conversations.channel conversations.conversation conversations.place conversations.title
		deliveries.channel deliveries.platform_id deliveries.reply_to identities.identity marks.channel marks.conversation marks.mark
		messages.author messages.forwarded_from messages.identity messages.platform_id messages.reply_to moved.channel moved.former sessions.key`,
	"names and IDs of ours": `
		attachments.blob attachments.uploader chat_calls.conversation cluster.id deliveries.nonce leases.name llm_bodies.step llm_calls.step owners.host tasks.tool turns.holders`,
	"states, kinds and rules": `
		actions.kind actions.outcome actions.state attachments.kind attachments.state attachments.taint conversations.kind deliveries.draft deliveries.outcome
		deliveries.state events.kind leases.kind llm_calls.role memories.kind memories.outcome memories.scope memories.source memories.state memories.taint
		messages.class messages.direction messages.origin messages.rule messages.taint owners.state reviews.status reviews.taint runs.state
		tasks.allowed_by tasks.code tasks.outcome tasks.rule tasks.state tasks.taint tasks.type turns.cancel_requested turns.outcome turns.state`,
	"who: a person's name, rights and settings": `
		actions.person actions.used_by identities.person memories.person messages.person people.name people.role people.source people.timezone people.tools
		people_away.identities people_away.name people_away.role people_away.tools sessions.language sessions.mode sessions.model sessions.person
		sessions.private sessions.timezone turns.person memory_settings.denied memory_settings.person`,
	"of an approval all but what was shown and said: states, names, a hash": `
		approvals.channel approvals.data approvals.decided_by approvals.hash approvals.identity approvals.kind approvals.person approvals.rule approvals.scope
		approvals.state approvals.taint approvals.tool`,
	"JSON of ours without what was said": `actions.data turns.terms`,
	"hashes":                             `actions.code audit_segments.digest audit_segments.hash audit_segments.previous browsers.hash browsers.token chat_calls.key event_keys.key signins.hash tokens.hash`,
	"what was used of models, and its sums": `
		llm_calls.day llm_calls.model llm_calls.provider spending.day spending.name spending.scope usage.day usage.model usage.person usage.role`,
	"made at rest, of what the turn's end left":                            `sessions.rest_fault sessions.summary sessions.summary_taint`,
	"of memory: who, when and where it surfaces":                           `memory_copy.log memory_days.day memory_days.person memory_log.name memory_scopes.scope memory_wal.erased`,
	"what a scanner, or we, say of a file":                                 `attachments.reason`,
	"a row of the audit log stays as it was written, which its seal shows": `audit.action audit.data audit.outcome audit.person audit.rule audit.target audit.why`,
	"of no turn: what is wanted later stays until it is deleted": `
		jobs.name jobs.owner jobs.payload jobs.reason jobs.rules jobs.seen jobs.spec jobs.state jobs.taint jobs.text
		notifications.person notifications.taint notifications.text runs.reason`,
	"of no turn: what strangers said, in a model's words": `messages.report`,
	"of no turn: what was refused as it came":             `rejected.channel rejected.conversation rejected.raw rejected.reason`,
	"of no turn: the settings":                            `settings_versions.changes settings_versions.conversation settings_versions.layer settings_versions.person settings_versions.reason`,
	"of no turn: API tokens, by name":                     `tokens.name tokens.people tokens.scopes`,
	"of no turn: browsers and their people":               `browsers.about browsers.person readings.person signins.person`,
	"made of a turn once it has ended, of what was blotted": `recalled.kind recalled.mark recalled.scope recalled.taint recalled.words recalled_words_data.block
		vectors.model vectors.scope vectors.vector`,
	"secrets in their own store, encrypted": `secrets.ciphertext secrets.former secrets.name secrets.person secrets.tools`,
}

// A new column is either blotted with a turn's credentials, or it is said above why it need not be.
func TestRedactKnowsEveryColumn(t *testing.T) {
	t.Parallel()
	known := map[string]string{} // column → how
	add := func(column, how string) {
		if known[column] != "" {
			t.Errorf("%s: %s, and %s", column, known[column], how)
		}
		known[column] = how
	}
	for _, statement := range turns.Blots {
		m := regexp.MustCompile(`^UPDATE (\w+) SET (.*?) WHERE`).FindStringSubmatch(statement)
		for _, set := range regexp.MustCompile(`(\w+) = (?:replace\(|\?)`).FindAllStringSubmatch(m[2], -1) {
			add(m[1]+"."+set[1], "blotted")
		}
	}
	for why, columns := range notBlotted {
		for column := range strings.FieldsSeq(columns) {
			add(column, why)
		}
	}
	var columns []struct{ Name string }
	err := storetest.SQLite(t).Read(t.Context(), "columns", func(t *database.Tx) error {
		return t.All(&columns, `
			SELECT m.name || '.' || c.name AS name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name <> 'goose_db_version' AND c.type IN ('TEXT', 'BLOB') ORDER BY 1`)
	})
	if err != nil || len(columns) < 150 {
		t.Fatalf("%d columns, %v", len(columns), err)
	}
	var names []string
	for _, c := range columns {
		if names = append(names, c.Name); known[c.Name] == "" {
			t.Errorf("%s can hold what somebody wrote: blot it, or say why not", c.Name)
		}
	}
	for column := range known {
		if !slices.Contains(names, column) {
			t.Errorf("there is no column %s", column)
		}
	}
}
