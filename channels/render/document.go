package render

import (
	"bytes"
	"io"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A Document is a parsed text. It is not changed after Parse and may be rendered
// by several goroutines at once.
type Document struct {
	source []byte
	root   ast.Node
	notes  map[string]string // see Annotate
	mask   *Mask             // see Masked
}

// Parse reads markdown. Any text is Markdown of some kind, so there is no error;
// bytes that are not UTF-8 become U+FFFD. Time and memory grow with the length of
// the text and no faster: markup beyond what people write is left as it stands.
func Parse(markdown string) *Document {
	source := squeeze([]byte(strings.ToValidUTF8(markdown, "\uFFFD")))
	f := addresses(source)
	if !f.web && !f.mail {
		if d, links := parsed(source, gfm, f); links == f.targets {
			return d
		}
	}
	d, _ := parsed(source, gfmAddressed, f)
	return d
}

// parsed is what p reads, and how many links to the Web are in it.
func parsed(source []byte, p parser.Parser, f found) (*Document, int) {
	pc, r := parser.NewContext(), &reading{found: f, notes: defined(source)}
	pc.Set(readingKey, r)
	return &Document{source: source, root: p.Parse(text.NewReader(source), parser.WithContext(pc))}, r.links
}

// unescape adds raw to out with backslash escapes and character references resolved
// in one pass, so that an escaped reference stays as written.
func unescape(out, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw) && util.IsPunct(raw[i+1]):
			i++
			out = append(out, raw[i])
		case c == '&':
			ref := reference(raw[i:])
			if ref == nil {
				out = append(out, c)
				continue
			}
			out = append(out, util.ResolveEntityNames(util.ResolveNumericReferences(ref))...)
			i += len(ref) - 1
		default:
			out = append(out, c)
		}
	}
	return out
}

// reference is the character reference that raw begins with, or nil. The longest
// name in HTML has 31 letters.
func reference(raw []byte) []byte {
	const longest = 33
	for i := 1; i < min(len(raw), longest); i++ {
		switch c := raw[i]; {
		case c == ';':
			return raw[:i+1]
		case c != '#' && !util.IsAlphaNumeric(c):
			return nil
		}
	}
	return nil
}

// A Mask says what is not to be shown of a text. Its methods are called with what was laid out,
// without markup.
type Mask struct {
	// Find returns stretches of text, in order and apart, in bytes, and where what may be
	// shown of it ends.
	Find func(text string) (found [][2]int, upTo int)
	// Placeholder is shown instead of each stretch.
	Placeholder string
}

// Masked returns the document with mask applied to what is laid out of it, whose letters may
// stand apart in the source: markup, escapes and line breaks are gone there. The document
// itself stays as it is.
func (d *Document) Masked(mask *Mask) *Document {
	masked := *d
	masked.mask = mask
	return &masked
}

// Source is what was parsed, as valid UTF-8.
func (d *Document) Source() string { return string(d.source) }

// An AttachmentRef is a link or image whose address is attachment:ID.
type AttachmentRef struct {
	ID    string
	Label string // the text of the link, or the image's; may be empty
}

// scheme is what the address of an attachment begins with.
const scheme = "attachment:"

// unnamed stands for an attachment whose link has no text.
const unnamed = "\U0001F4CE" // a paper clip

func attachment(destination []byte) (id string, ok bool) {
	if len(destination) < len(scheme) || !bytes.EqualFold(destination[:len(scheme)], []byte(scheme)) {
		return "", false
	}
	return string(unescape(nil, destination[len(scheme):])), true
}

// Attachments lists the files the document refers to, each once, in the order of
// their first mention.
func (d *Document) Attachments() []AttachmentRef {
	var refs []AttachmentRef
	if !bytes.Contains(bytes.ToLower(d.source), []byte(scheme)) {
		return nil
	}
	seen, labels := map[string]bool{}, &budget{room: 4096 + 8*len(d.source)}
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		id, ok := attachment(destination(n, d.source))
		if !ok || !entering || seen[id] {
			return ast.WalkContinue, nil
		}
		seen[id] = true
		label := &layout{style: &plainStyle, source: d.source, budget: &budget{}, oneLine: true}
		label.inline(n)
		ref := AttachmentRef{ID: id}
		if labels.again(len(label.buf)) { // they may stand in each other
			ref.Label = string(label.buf)
		}
		refs = append(refs, ref)
		return ast.WalkContinue, nil
	})
	return refs
}

// Annotate returns the document with a note behind each reference to an attachment
// that notes has an entry for, by its ID: a file's name where files cannot be sent,
// or that there is none. The document itself stays as it is.
func (d *Document) Annotate(notes map[string]string) *Document {
	annotated := *d
	annotated.notes = notes
	return &annotated
}

// attached writes the text of a reference to an attachment, and its note.
func (l *layout) attached(n ast.Node, id string) {
	before := len(l.buf)
	l.inline(n)
	if len(l.buf) == before {
		l.write([]byte(unnamed))
	}
	if note := strings.TrimSpace(l.notes[id]); note != "" && l.again(len(note)) {
		l.write([]byte(" " + note))
	}
}

// Render writes the document by a renderer of the library's, for who shows HTML. What the document is masked or annotated with is not
// in it.
func (d *Document) Render(w io.Writer, r renderer.Renderer) error {
	return r.Render(w, d.source, d.root)
}

// AttachmentID is the ID of a file in an address attachment:ID; ok is false for others.
func AttachmentID(address string) (id string, ok bool) { return attachment([]byte(address)) }
