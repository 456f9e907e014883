package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"switchboard/agent/memory"
	"switchboard/store/database"
)

// Store finds in transactions of its own. Its methods may be called from several goroutines at once.
type Store struct {
	*database.DB
	shelves *shelves
}

// New is the store of a database.
func New(db *database.DB) *Store { return &Store{db, &shelves{of: map[shelfOf]*shelf{}}} }

const (
	// maxOften bounds the very common words of which two together are looked for.
	maxOften = 4
	// maxMore bounds what has two of them, and what nearly has a word that is nowhere.
	maxMore = 64
)

const (
	// matching are the newest that expression n matches and that may be seen. PostgreSQL is to look into the index of words
	// first, whatever it guesses, then to sort, and to look at what a row names last: each OFFSET keeps a step apart. It does not see
	// the expressions in their SELECT, so it plans once, which takes longer than to run it.
	matchingSQLite = `
		SELECT %d AS n, id FROM (SELECT r.id FROM recalled_words w CROSS JOIN recalled r ON r.id = w.rowid
			WHERE w.recalled_words MATCH ? AND %s ORDER BY w.rowid DESC LIMIT %d) x`
	matchingPostgres = `
		SELECT e.n - 1 AS n, x.id FROM unnest((SELECT CAST(? AS text[]))) WITH ORDINALITY e (q, n), LATERAL (
			SELECT r.id FROM (SELECT * FROM (
				SELECT id, kind, ref, scope, session_id, taint FROM recalled
				WHERE CAST(mark || replace(words, ' ', ' ' || mark) AS tsvector) @@ CAST(e.q AS tsquery) OFFSET 0
			) f ORDER BY id DESC OFFSET 0) r WHERE %s ORDER BY r.id DESC LIMIT %d) x`
	// marked are those of numbered marks that have rows: each word is looked for under each of them.
	marked = `SELECT column1 AS n FROM (VALUES %s) v WHERE EXISTS (SELECT 1 FROM recalled r WHERE r.scope = column2 AND r.mark = column3)`
	// loaded are rows with what they name.
	loaded = `
		SELECT r.id, r.kind AS record, r.ref, r.scope, r.taint, r.said_at, r.words, coalesce(s.key, '') AS session, coalesce(m.kind, '') AS kind,
			coalesce(m.confidence, 1) AS confidence, coalesce(m.person, g.person, u.person, s.person, '') AS person,
			substr(coalesce(CASE r.kind WHEN 'memory' THEN m.text WHEN 'message' THEN g.text WHEN 'summary' THEN s.summary ELSE t.output END, ''), 1, 6000) AS text
		FROM recalled r LEFT JOIN sessions s ON s.id = r.session_id LEFT JOIN memories m ON r.kind = 'memory' AND m.id = r.ref
			LEFT JOIN messages g ON r.kind = 'message' AND g.id = r.ref
			LEFT JOIN tasks t ON r.kind = 'result' AND t.turn_id = r.ref AND t.attempt = r.attempt AND t.position = r.position
			LEFT JOIN turns u ON r.kind = 'result' AND u.id = r.ref
		WHERE r.id IN `
)

// sayer is who said what a row r names; NULL: several, or nobody we know.
const sayer = `CASE r.kind WHEN 'memory' THEN (SELECT y.person FROM memories y WHERE y.id = r.ref)
	WHEN 'message' THEN (SELECT y.person FROM messages y WHERE y.id = r.ref) WHEN 'result' THEN (SELECT y.person FROM turns y WHERE y.id = r.ref) END`

// sinceThen: not what somebody said who had the name of a person before. Their memories are gone.
const sinceThen = `NOT EXISTS (SELECT 1 FROM people p WHERE p.name = ? AND p.created_at > CASE r.kind
	WHEN 'message' THEN (SELECT y.created_at FROM messages y WHERE y.id = r.ref) WHEN 'result' THEN (SELECT y.created_at FROM turns y WHERE y.id = r.ref) END)`

// seen is the condition on rows r that a query may see, with its arguments.
func seen(q *memory.Query, now int64) (where string, args []any) {
	marks, args := database.In(q.Scopes)
	states := []string{"active"}
	if q.Archived {
		states = append(states, "archived")
	}
	in, list := database.In(states)
	where = `r.scope IN (` + marks + `) AND (r.kind <> 'memory' OR EXISTS (SELECT 1 FROM memories m WHERE m.id = r.ref
		AND (m.expires_at = 0 OR m.expires_at > ?) AND m.confidence >= ? AND m.state IN (` + in + `)`
	args = append(append(args, now, q.MinConfidence), list...)
	if q.Kinds != nil {
		in, list = database.In(q.Kinds)
		where += ` AND m.kind IN (` + in + `)`
		args = append(args, list...)
	}
	where += `)) AND (r.kind NOT IN ('message', 'result') OR r.ref > coalesce((
		SELECT CASE r.kind WHEN 'message' THEN s.reset_message ELSE s.reset_turn END FROM sessions s WHERE s.id = r.session_id), 0))`
	if q.Memories {
		where += ` AND r.kind = 'memory'`
	}
	if q.Said {
		where += ` AND r.kind <> 'memory'`
	}
	if !q.Tainted {
		where += ` AND r.taint = ''`
	}
	if q.Session != 0 {
		where += ` AND (r.kind NOT IN ('message', 'summary') OR coalesce(r.session_id, 0) <> ? OR r.kind = 'message' AND r.ref < ?)`
		args = append(args, q.Session, q.Since)
	}
	if q.By != "" {
		where += ` AND (r.scope = 'global' OR ` + sayer + ` = ? AND ` + sinceThen + `)`
		args = append(args, database.Clean(q.By), database.Clean(q.By))
	}
	return where, args
}

// matching is the query for what each of the expressions matches, so many at most, with its arguments.
func matching(t *database.Tx, q *memory.Query, expressions []string, limit int) (query string, args []any) {
	where, list := seen(q, t.Now)
	if t.PG {
		return fmt.Sprintf(matchingPostgres, where, limit), append([]any{`{"` + strings.Join(expressions, `","`) + `"}`}, list...)
	}
	var parts []string
	for n, e := range expressions {
		parts = append(parts, fmt.Sprintf(matchingSQLite, n, where, limit))
		args = append(append(args, e), list...)
	}
	return strings.Join(parts, ` UNION ALL `), args
}

// Search finds what has a term of the query and may be seen in its scopes, by three statements at most.
func (s *Store) Search(ctx context.Context, q memory.Query) (found memory.Found, err error) {
	if len(q.Terms) == 0 || len(q.Scopes) == 0 {
		return found, nil
	}
	err = s.Read(ctx, "recall", func(t *database.Tx) error {
		found = memory.Found{Counts: make([]int, len(q.Terms)), Said: make([]int, len(q.Terms))}
		parts, err := partsOf(t, &q, &found)
		if err != nil || len(parts) == 0 {
			return err
		}
		var look []string
		for _, p := range parts {
			for _, term := range q.Terms {
				look = append(look, p.any(term.Forms))
			}
		}
		query, args := matching(t, &q, look, memory.MaxCount)
		rows, err := database.Select[struct {
			N  int
			ID int64
		}](t, query, args...)
		if err != nil {
			return err
		}
		counts := make([]int, len(look)) // of each term in each part
		for _, r := range rows {
			counts[r.N]++
		}
		var ids []string
		for _, r := range rows {
			if q.Loose || counts[r.N] < memory.MaxCount {
				ids = append(ids, database.Digits(r.ID))
			}
		}
		look = nil
		for i, p := range parts {
			*p.counts = counts[i*len(q.Terms) : (i+1)*len(q.Terms)]
			if p.record == memory.OfMemory || slices.Max(*p.counts) > 0 { // most often nothing of it was said
				look = append(look, p.rest(q.Terms, *p.counts)...)
			}
		}
		if len(ids) == 0 && len(look) == 0 {
			return nil
		}
		found.Hits, err = load(t, &q, ids, look)
		return err
	})
	return found, err
}

// A part is memories, or all else, which have lists of their own in the index.
type part struct {
	expressions
	record memory.Record
	counts *[]int // of each term
}

// partsOf are the parts of a query that have rows.
func partsOf(t *database.Tx, q *memory.Query, found *memory.Found) (parts []*part, err error) {
	if !q.Said {
		parts = append(parts, &part{expressions{pg: t.PG}, memory.OfMemory, &found.Counts})
	}
	if !q.Memories {
		parts = append(parts, &part{expressions{pg: t.PG}, memory.OfMessage, &found.Said})
	}
	var marks, values []string
	var of []*part // of each mark
	var args []any
	for _, p := range parts {
		for _, scope := range q.Scopes {
			m := mark(scope, p.record)
			values = append(values, fmt.Sprintf("(%d, ?, ?)", len(marks)))
			marks, of, args = append(marks, m), append(of, p), append(args, scope, m)
		}
	}
	rows, err := database.Select[struct{ N int }](t, strings.Replace(marked, "%s", strings.Join(values, ", "), 1), args...)
	for _, row := range rows {
		of[row.N].marks = append(of[row.N].marks, marks[row.N])
	}
	return slices.DeleteFunc(parts, func(p *part) bool { return p.marks == nil }), err
}

// rest is what is looked for besides words: what nearly has one that is nowhere, and what has two that are very common.
func (x *expressions) rest(terms []memory.Term, counts []int) (look []string) {
	var often []memory.Term
	for i, term := range terms {
		if n := counts[i]; n == 0 && term.Ends != nil {
			look = append(look, x.any(term.Ends))
		} else if n == memory.MaxCount && len(often) < maxOften {
			often = append(often, term)
		}
	}
	if len(often) > 1 {
		look = append(look, x.pairs(often))
	}
	return look
}

// load reads the rows with these IDs, and what the expressions match.
func load(t *database.Tx, q *memory.Query, ids, look []string) ([]memory.Hit, error) {
	query := loaded + t.Either(`(SELECT value FROM json_each('[' || ? || ']')`, `(SELECT unnest(CAST('{' || ? || '}' AS bigint[]))`)
	args := []any{strings.Join(ids, ",")}
	if len(look) > 0 {
		more, list := matching(t, q, look, maxMore)
		query += ` UNION ALL SELECT id FROM (` + more + `) y`
		args = append(args, list...)
	}
	hits, err := database.Select[memory.Hit](t, query+`)`, args...)
	return slices.DeleteFunc(hits, func(h memory.Hit) bool { return h.Text == "" }), err // what it names is gone
}

// expressions are what FTS5 and tsquery read.
type expressions struct {
	pg    bool
	marks []string // of the scopes
}

func (x *expressions) join(list []string, lite, pg string) string {
	if x.pg {
		lite = pg
	}
	return `(` + strings.Join(list, lite) + `)`
}

func (x *expressions) or(list ...string) string  { return x.join(list, ` OR `, ` | `) }
func (x *expressions) and(list ...string) string { return x.join(list, ` AND `, ` & `) }

// words are those of the index, which have letters, marks and digits alone, of one scope.
func (x *expressions) words(mark string, list []string) (words []string) {
	for _, w := range list {
		if w = mark + w; x.pg {
			words = append(words, `'`+w+`'`)
		} else {
			words = append(words, `"`+w+`"`)
		}
	}
	return words
}

// scoped joins what an expression is in each scope.
func (x *expressions) scoped(expression func(mark string) string) string {
	var list []string
	for _, m := range x.marks {
		list = append(list, expression(m))
	}
	return x.or(list...)
}

// any is one of these words.
func (x *expressions) any(list []string) string {
	return x.scoped(func(mark string) string { return x.or(x.words(mark, list)...) })
}

// pairs is two of the terms.
func (x *expressions) pairs(terms []memory.Term) string {
	return x.scoped(func(mark string) string {
		var pairs []string
		for i, a := range terms {
			for _, b := range terms[i+1:] {
				pairs = append(pairs, x.and(x.or(x.words(mark, a.Forms)...), x.or(x.words(mark, b.Forms)...)))
			}
		}
		return x.or(pairs...)
	})
}
