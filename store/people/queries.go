package people

// Queries are statements that run again and again, by name, for those who look how a database runs them.
func Queries() map[string]string {
	return map[string]string{"deleteTold": deleteTold}
}
