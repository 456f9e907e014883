package database

// Overwriting has SQLite overwrite what is deleted, and not only unlink it, until done.
func Overwriting(t *Tx) (done func(), err error) {
	if t.PG {
		return func() {}, nil
	}
	if _, err := t.Exec("PRAGMA secure_delete = ON"); err != nil {
		return nil, err
	}
	return func() { _, _ = t.Exec("PRAGMA secure_delete = OFF") }, nil
}
