package store

// Joining is how many calls of durable steps are under way, Waiting how many
// steps wait for them.
func (db *DB) Joining() int { n, _ := db.pg.steps[full].waiting(); return n }

func (db *DB) Waiting() int { _, n := db.pg.steps[full].waiting(); return n }

func (j *joint) waiting() (under, queued int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.under, len(j.queue)
}
