package agent

import (
	"fmt"
	"slices"
	"strings"
)

// message shows what the person said. The turn's message is the last section, as it
// reads now: the person's own words are the instruction and stand as they are; what
// they passed on is only data.
func (ps *prompts) message(p *prompt, all []turnMessage) {
	m := all[0]
	p.attached(all)
	if m.Quote != "" {
		p.section("Quoted message")
		p.data(m.Quote)
	}
	own := strings.TrimSpace(m.Text) != "" || len(m.Passed) == 0
	if own && len(m.Passed) > 0 {
		p.section("Passed on")
		p.passedOn(m.Passed)
	}
	p.added(all)
	p.section("New message")
	if own {
		p.add(tidy(m.Text))
		return
	}
	p.passedOn(m.Passed)
}

const notTheirs = "Passed on by the person, not their own words:"

// words shows the text of a message in the middle of a prompt.
func (p *prompt) words(m Incoming) {
	switch {
	case strings.TrimSpace(m.Text) != "":
		p.add("- " + indent(tidy(m.Text)) + "\n")
	case len(m.Passed) == 0:
		p.linef("(no text)")
	}
	p.passedOn(m.Passed)
}

// passedOn shows texts that are not the person's own, and who wrote them.
func (p *prompt) passedOn(list []Passed) {
	if len(list) > 0 {
		p.linef("%s", notTheirs)
	}
	for _, m := range list {
		p.data(forwarded(m.From, m.Text))
	}
}

// forwarded is a text with who wrote it in front, where a platform says so; both are
// outside text.
func forwarded(from, text string) string {
	if from == "" {
		return text
	}
	return "(forwarded from " + oneLine(from) + ") " + text
}

// added shows what was said after the turn began, in the order said.
func (p *prompt) added(all []turnMessage) {
	first, more := all[0], all[1:]
	if len(first.former)+len(more) == 0 {
		return
	}
	p.section("Added meanwhile")
	if n := len(first.former); n > 0 {
		p.linef("The person changed their message while you were at it. Under New message it stands as it reads now, and only that counts. Before, it read:")
		p.words(first.former[n-1])
	}
	if len(more) > 0 {
		p.linef("The person wrote more while you were at it, in their own words unless it says otherwise. It counts as much as the new message; where they disagree, what was said last counts.")
	}
	for _, m := range more {
		title := "### " + m.At.UTC().Format("15:04:05 UTC")
		switch {
		case len(m.former) > 0:
			title += ", changed since"
		case m.Replaces != 0:
			title += ", the new text of a message that they changed"
		}
		p.linef("%s", title)
		if m.Quote != "" {
			p.linef("It answers this message:")
			p.data(m.Quote)
		}
		p.words(m.Incoming)
	}
}

// attached lists the files that came along, and how to get at them.
func (p *prompt) attached(all []turnMessage) {
	var list []Attachment
	for _, m := range all {
		list = append(list, m.Attachments...)
	}
	if len(list) == 0 {
		return
	}
	p.section("Attachments")
	p.linef("By its id, attachment.read shows the text of one and attachment.save puts one into the workspace.")
	if slices.ContainsFunc(list, func(a Attachment) bool { return a.Kind == "voice" }) {
		p.linef("A voice message cannot be listened to in this build. Where it matters what it says, tell the person so and ask them to write.")
	}
	p.data(attachments(list))
}

// attachments is a line an attachment. Its names and types are outside text.
func attachments(list []Attachment) string {
	var out strings.Builder
	for _, a := range list {
		size := "size unknown"
		if a.Size > 0 {
			size = fmt.Sprintf("%d bytes", a.Size)
		}
		about := slices.DeleteFunc([]string{oneLine(a.Kind), oneLine(a.Type), size}, func(s string) bool { return s == "" })
		fmt.Fprintf(&out, "id %s: %q (%s)\n", oneLine(a.ID), oneLine(a.Name), strings.Join(about, ", "))
	}
	return out.String()
}
