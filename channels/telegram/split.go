package telegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// splitUpdates cuts the answer to getUpdates into its updates. What is inside one is
// not looked at, so that a bad one does not cost the others. cutOff says that the
// answer may as well have been cut off: it counts only if it comes a second time.
func splitUpdates(x *exchange) (raws [][]byte, cutOff bool, err error) {
	if x.reply != nil {
		var list []json.RawMessage
		if json.Unmarshal(x.reply.Result, &list) == nil {
			for _, raw := range list {
				raws = append(raws, raw)
			}
			return raws, false, nil
		}
	}
	if raws, ok := elements(x.Body); ok {
		return raws, false, nil
	}
	if raws, cutOff := pieces(x.Body); len(raws) > 0 {
		return raws, cutOff, nil
	}
	return nil, false, errors.New("the answer is no list of updates")
}

// elements cuts the array "result" of an object that is not quite JSON, by brackets
// and quotes alone: strings may hold control characters. ok is false where it has no
// end.
func elements(body []byte) (list [][]byte, ok bool) {
	at := bytes.Index(body, []byte(`"result"`))
	if at < 0 {
		return nil, false
	}
	rest := bytes.TrimLeft(body[at+len(`"result"`):], " \t\r\n")
	if len(rest) == 0 || rest[0] != ':' {
		return nil, false
	}
	if rest = bytes.TrimLeft(rest[1:], " \t\r\n"); len(rest) == 0 || rest[0] != '[' {
		return nil, false
	}
	depth, start, quoted := 0, 0, false
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth == 0 {
				start = i
			}
			depth++
		case c == ']' && depth == 0:
			return list, true
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return nil, false
			}
			if depth == 0 {
				list = append(list, rest[start:i+1])
			}
		}
	}
	return nil, false
}

// pieces cuts a list in which brackets or quotes do not match where an update begins:
// inside a text its quotes would be escaped. An answer that was cut off looks alike,
// so the last piece is left for the next answer unless it is whole; alone, it is
// cutOff.
func pieces(body []byte) (list [][]byte, cutOff bool) {
	body = bytes.TrimRight(body, " \t\r\n")
	if !bytes.HasSuffix(body, []byte("]}")) {
		return nil, false
	}
	begin := []byte(`{"update_id"`)
	at := bytes.Index(body, begin)
	for at >= 0 {
		end := len(body) - len("]}")
		next := bytes.Index(body[at+len(begin):], begin)
		if next >= 0 {
			next += at + len(begin)
			end = next
		}
		list = append(list, bytes.TrimRight(body[at:max(at, end)], ", \t\r\n"))
		at = next
	}
	if n := len(list); n > 1 && !json.Valid(list[n-1]) {
		return list[:n-1], false
	}
	return list, len(list) == 1
}

// withoutNUL is a JSON text with U+FFFD for each NUL in its strings, escaped or not: no
// database of ours takes one in a text.
func withoutNUL(raw []byte) []byte {
	raw = bytes.ReplaceAll(raw, []byte{0}, []byte("\ufffd"))
	escape := []byte(`\u0000`)
	for at := 0; ; {
		i := bytes.Index(raw[at:], escape)
		if i < 0 {
			return raw
		}
		at += i
		before := len(raw[:at]) - len(bytes.TrimRight(raw[:at], `\`))
		if before%2 == 0 { // an odd one would escape this backslash
			raw = slices.Concat(raw[:at], []byte(`\ufffd`), raw[at+len(escape):])
		}
		at += len(escape)
	}
}
