package render

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
)

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
