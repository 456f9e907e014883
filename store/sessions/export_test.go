package sessions

// FrequentQueries are statements that every message runs, with the index that SQLite finds their rows by.
var FrequentQueries = map[string]string{insertUntaken: "messages USING COVERING INDEX messages_platform"}
