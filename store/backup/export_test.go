package backup

// Carried and Left are the tables of the list.
func Carried() (names []string) { return numbered()[1:] }

func Left() []string { return left }

// Key is the key of a table in the list.
func Key(name string) []string { return tableNamed(name).key }
