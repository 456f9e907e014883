package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
)

var lineBreaks = strings.NewReplacer("\n", "", "\r", "")

// named are the names of quotes in HTML, where Go writes numbers.
var named = strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;")

// forms are the ways a value is looked for, without what is skipped: each is at least
// keyLength long.
func forms(value string) []string {
	var all []string
	add := func(forms ...string) {
		for _, f := range forms {
			if f = shown(f); len(f) >= keyLength && !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	escaped := html.EscapeString(value)
	bases := []string{value, escaped, named.Replace(escaped), url.PathEscape(value)}
	for _, special := range []string{"_*", "\\`*_{}[]()<>#+-.!|~", "\\`*_{}[]()<>#+-.!|~$&:@=\"'^/"} { // in Markdown
		var form strings.Builder
		for _, r := range value {
			if strings.ContainsRune(special, r) {
				form.WriteByte('\\')
			}
			form.WriteRune(r)
		}
		bases = append(bases, form.String())
	}
	for _, base := range bases {
		add(base)
		safe, plain := base, base
		for range 3 { // JSON stands within JSON
			safe, plain = inJSON(safe, true), inJSON(plain, false)
			add(safe, plain, strings.ReplaceAll(safe, "/", `\/`), strings.ReplaceAll(plain, "/", `\/`))
		}
	}
	// Line breaks are of the value in what is encoded, in any of their ways.
	for _, v := range []string{value, strings.ReplaceAll(value, "\n", "\r\n"), lineBreaks.Replace(value)} {
		query, path := url.QueryEscape(v), url.PathEscape(v)
		add(query, path, lowerEscapes(query), lowerEscapes(path), strings.ReplaceAll(query, "+", "%20"))
		digits := hex.EncodeToString([]byte(v))
		add(digits, strings.ToUpper(digits))
		for before := range 3 {
			// What stands before and after decides on the letters at both ends.
			first, last := (before*8+5)/6, (before+len(v))*8/6
			bytes := append(make([]byte, before), v...)
			add(base64.RawStdEncoding.EncodeToString(bytes)[first:last], base64.RawURLEncoding.EncodeToString(bytes)[first:last])
		}
	}
	return all
}

// inJSON is a text as it stands in JSON, with or without what HTML needs.
func inJSON(s string, forHTML bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(forHTML)
	_ = e.Encode(s) // texts always encode
	return b.String()[1 : b.Len()-2]
}

// lowerEscapes writes the digits of escapes such as %2F small.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}
