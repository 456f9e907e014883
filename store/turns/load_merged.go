package turns

import (
	"fmt"
	"strconv"
	"strings"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store/database"
)

const (
	columnsIncoming = `m.id, m.text, m.author, m.happened_at, m.created_at, m.taint, m.quote, m.outside, m.forwarded_from, m.platform_id,
			coalesce(m.replaces, 0) AS replaces, m.attachments AS count`
	// loadMerged: merged_from is -1 where a message was collected before the turn
	// began.
	loadMerged = `SELECT y.merged_from, ` + columnsIncoming + `
		FROM turns y JOIN messages m ON m.id = y.message_id WHERE y.merged_into = ? ORDER BY y.id`
	loadOwn = `SELECT -1 AS merged_from, ` + columnsIncoming + `
		FROM messages m WHERE m.turn_id = ? AND m.direction = 'in' ORDER BY m.id`
	loadAttachments = `
		SELECT id, message_id, kind, name, type, size FROM attachments WHERE message_id IN (%s) ORDER BY message_id, position`
)

// incomingRow is a message of a person with what came along.
type incomingRow struct {
	MergedFrom          int `db:"merged_from"`
	ID                  int64
	Text, Author, Quote string
	Outside             bool   // the text is not the person's own
	From                string `db:"forwarded_from"`
	HappenedAt          int64  `db:"happened_at"`
	CreatedAt           int64  `db:"created_at"`
	Taint               tools.Taint
	PlatformID          channels.MessageID `db:"platform_id"`
	Replaces            int64
	Count               int
	attachments         []agent.Attachment
}

func (r *incomingRow) incoming() agent.Incoming {
	m := agent.Incoming{
		ID: r.ID, Text: r.Text, Author: r.Author, At: saidAt(r.HappenedAt, r.CreatedAt), Taint: r.Taint, Quote: r.Quote,
		Attachments: r.attachments, Replaces: r.Replaces,
	}
	r.passOn(&m)
	return m
}

// passOn sets a text apart that is not the person's own.
func (r *incomingRow) passOn(m *agent.Incoming) {
	if r.Outside && m.Text != "" {
		m.Text, m.Passed = "", []agent.Passed{{From: r.From, Text: m.Text}}
	}
}

// incomings reads messages with their attachments; what was taken back is left out.
func incomings(t *database.Tx, query string, args ...any) (rows []incomingRow, err error) {
	var all []incomingRow
	if err := t.All(&all, query, args...); err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.Count > 0 {
			files, err := attachmentsOf(t, r.ID)
			if err != nil {
				return nil, err
			}
			r.attachments = files[r.ID]
		}
		if r.Text != "" || r.Quote != "" || len(r.attachments) > 0 {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// attachmentsOf reads what came with messages, by message.
func attachmentsOf(t *database.Tx, messages ...int64) (map[int64][]agent.Attachment, error) {
	var rows []struct {
		ID               int64
		MessageID        int64 `db:"message_id"`
		Kind, Name, Type string
		Size             int64
	}
	marks, args := database.In(messages)
	if err := t.All(&rows, fmt.Sprintf(loadAttachments, marks), args...); err != nil {
		return nil, err
	}
	files := map[int64][]agent.Attachment{}
	for _, r := range rows {
		files[r.MessageID] = append(files[r.MessageID], agent.Attachment{
			ID: strconv.FormatInt(r.ID, 10), Kind: r.Kind, Name: r.Name, Type: r.Type, Size: r.Size,
		})
	}
	return files, nil
}

// merge adds to a turn what was merged into it: collected messages become one with
// its own, absorbed ones stand by themselves.
func merge(t *database.Tx, d *core.TurnData) error {
	rows, err := incomings(t, loadMerged, d.Turn.ID)
	if err != nil {
		return err
	}
	var collected []incomingRow
	for i := range rows {
		r := &rows[i]
		if r.MergedFrom >= 0 {
			d.State.Added = append(d.State.Added, agent.Added{Incoming: r.incoming(), From: r.MergedFrom})
			continue
		}
		collected = append(collected, *r)
	}
	for i := range collected {
		join(d, collected[i].incoming(), collected[i].PlatformID)
	}
	return nil
}

// join adds a message to a turn's own, so that they are one.
func join(d *core.TurnData, more agent.Incoming, id channels.MessageID) {
	m := &d.Turn.Message
	m.Text, m.Quote = paragraphs([]string{m.Text, more.Text}), paragraphs([]string{m.Quote, more.Quote})
	m.Passed, m.Attachments = append(m.Passed, more.Passed...), append(m.Attachments, more.Attachments...)
	m.Taint = m.Taint.Join(more.Taint)
	if id != "" {
		d.ReplyTo = id // the latest: the answer is to all of them
	}
}

// paragraphs joins texts by blank lines.
func paragraphs(texts []string) string {
	var b strings.Builder
	for _, s := range texts {
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(s)
	}
	return b.String()
}
