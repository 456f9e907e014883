package telegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// optional are the parts of a message without which the rest means the same. Who wrote
// it, where, in answer to what and in whose words is not among them: a message of which
// that cannot be read is rejected whole.
var optional = []string{
	"text", "entities", "caption", "caption_entities", "date", "edit_date", "media_group_id",
	"photo", "document", "voice", "audio", "video", "video_note", "animation",
	"sticker", "location", "venue", "contact", "poll", "dice",
}

// mostOdd is how many fields of one update may be odd.
const mostOdd = 16

// readUpdate reads an update without those optional fields that are not as documented,
// and says which they are.
func readUpdate(raw []byte) (w wireUpdate, odd []string, err error) {
	for {
		w, err = decode[wireUpdate](raw)
		field, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if !ok || len(odd) == mostOdd {
			break
		}
		path := strings.Split(field.Field, ".")
		if len(path) < 2 || path[0] != "message" && path[0] != "edited_message" || !slices.Contains(optional, path[1]) {
			break
		}
		rest, changed := without(raw, path)
		if !changed {
			break
		}
		raw, odd = rest, append(odd, strings.Join(path[1:], "."))
	}
	for _, m := range []*wireMessage{w.Message, w.EditedMessage} {
		if m != nil {
			m.unread = odd
		}
	}
	return w, odd, err
}

// without is raw without the field at path; in a list, that of each element.
func without(raw []byte, path []string) (rest []byte, changed bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil || !remove(tree, path) {
		return raw, false
	}
	rest, err := json.Marshal(tree)
	return rest, err == nil
}

func remove(tree any, path []string) (changed bool) {
	switch tree := tree.(type) {
	case []any:
		for _, element := range tree {
			changed = remove(element, path) || changed
		}
	case map[string]any:
		if len(path) > 1 {
			return remove(tree[path[0]], path[1:])
		}
		_, changed = tree[path[0]]
		delete(tree, path[0])
	}
	return changed
}
