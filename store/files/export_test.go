package files

// FrequentQueries are statements with the index that SQLite finds their rows by.
var FrequentQueries = map[string]string{blobUsed: "attachments USING INDEX attachments_blob"}
