package telegramtest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// rawUpdate puts the number into an update that is written by hand.
func rawUpdate(raw string, id int64) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(raw, "UPDATE_ID", strconv.FormatInt(id, 10)))
}

// renumber gives an update that the server made another number; it stands first.
func renumber(raw json.RawMessage, id int64) json.RawMessage {
	if _, rest, ok := bytes.Cut(raw, []byte(",")); ok && bytes.HasPrefix(raw, []byte(`{"update_id":`)) {
		return append([]byte(`{"update_id":`+strconv.FormatInt(id, 10)+","), rest...)
	}
	return raw
}

// joined are updates as they are, be they JSON or not.
func joined(updates []json.RawMessage) []byte {
	all := make([][]byte, len(updates))
	for i, u := range updates {
		all[i] = u
	}
	return bytes.Join(all, []byte(","))
}
