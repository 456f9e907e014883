package memory

import "strings"

// FrequentQueries are statements of each message that something may be remembered for, with the index that SQLite finds their rows by.
var FrequentQueries = map[string]string{
	strings.Replace(standing, "%s", "?, ?, ?", 1):            "m USING INDEX memories_scope (scope=? AND state=? AND kind=?)",
	strings.Replace(marked, "%s", "(0, ?, ?), (1, ?, ?)", 1): "USING COVERING INDEX recalled_mark (scope=? AND mark=?)",
}
