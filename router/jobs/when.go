package jobs

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"switchboard/internal/words"
	"switchboard/scheduler"
)

// when reads when a job is due. Its Rest is the text of the job: what stands next to the time, where the request has none.
func (d *Service) when(a *caller, r request) (read scheduler.When, err error) {
	now, when := d.Now(), strings.TrimSpace(r.when)
	zone := cmp.Or(r.zone, a.zone)
	if first, rest, _ := strings.Cut(when, " "); r.zone == "" && (first == "UTC" || strings.Contains(first, "/")) {
		if named, err := words.Zone(first); err == nil { // "Europe/Rome tomorrow at 9"
			zone, r.zone, when = named, named, rest
		}
	}
	if r.zone != "" { // one that is kept already is taken as it is, such as an EST of the settings
		if zone, err = words.Zone(r.zone); err != nil {
			return read, faulty("bad_time", "%v", err)
		}
	}
	if len(when) > mostWhen {
		return read, tooLong()
	}
	if read, err = scheduler.Read(when, now, zone); err != nil {
		return read, unread(err, r)
	}
	text, rest := strings.TrimSpace(r.text), whatOf(read.Rest)
	if text != "" && rest != "" {
		return read, faulty("bad_time", "I read the time as %s, and do not know what %q has to do with it.", read.Spec.Words(), words.OneLine(rest, 60))
	}
	if read.Rest = cmp.Or(text, rest, read.Says); len(read.Rest) > mostText {
		return read, tooLong()
	}
	read.Spec.Assumed = r.zone == "" && !a.known && zone == "UTC" && matters(when, now, &read.Spec)
	return read, nil
}

// matters: in another zone a time would be another one.
func matters(when string, now time.Time, spec *scheduler.Spec) bool {
	elsewhere, err := scheduler.Read(when, now, "Pacific/Kiritimati")
	if err != nil {
		return true
	}
	here, _ := spec.Next(now)
	there, ok := elsewhere.Spec.Next(now)
	return !ok || !there.Equal(here)
}

// unread says why a time was not read.
func unread(err error, r request) *fault {
	if several, ok := errors.AsType[*scheduler.Ambiguous](err); ok {
		f := &fault{code: "ambiguous", text: cmp.Or(several.Why, "That may be one of several times; which do you mean?")}
		for _, c := range several.Choices {
			f.choices = append(f.choices, choice{c.Words, typed(r.zone, c.Words, cmp.Or(r.text, whatOf(c.When.Rest)))})
		}
		return f
	}
	if past, ok := errors.AsType[*scheduler.PastError](err); ok {
		return faulty("past", "%s", past.Reason)
	}
	return faulty("bad_time", "%v", err)
}

// whatOf is what a reminder says: "to call Ann" is to be read as "call Ann".
func whatOf(rest string) string {
	rest = strings.TrimSpace(rest)
	for _, lead := range []string{"to ", "that ", "about ", ": ", "– ", "- ", ", "} {
		if len(rest) > len(lead) && strings.EqualFold(rest[:len(lead)], lead) {
			return strings.TrimSpace(rest[len(lead):])
		}
	}
	return rest
}

// typed is what somebody would write for a time and a text, with a colon between them: the text may begin as a
// time does.
func typed(zone, when, text string) string {
	if text != "" {
		when += ":"
	}
	return joined(" ", zone, when, text)
}

// joined are the parts that are not empty.
func joined(by string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), by)
}

// snoozedUntil is when a reminder comes again: after a length of time, or at a time.
func (d *Service) snoozedUntil(a *caller, job *scheduler.Job, by string) (time.Time, error) {
	now := d.Now()
	if job.Payload != scheduler.PayloadNotify {
		return now, faulty("refused", "Only reminders can be snoozed.")
	}
	where := scheduler.Spec{Zone: cmp.Or(a.zone, job.Spec.Zone)}
	if by == "tomorrow" {
		return now.In(where.Location()).AddDate(0, 0, 1), nil
	}
	wait, err := time.ParseDuration(by)
	if err != nil && len(by) <= mostWhen {
		if read, e := scheduler.Read(by, now, where.Zone); e == nil && read.Spec.At != "" && read.Rest == "" {
			until, _ := read.Spec.Next(now)
			wait, err = until.Sub(now), nil
		}
	}
	if err != nil || wait < leastPause || wait > 366*24*time.Hour {
		return now, faulty("bad_time", "A reminder is snoozed for a time such as 10m or 1h, or until one such as tomorrow at 9.")
	}
	return now.Add(wait), nil
}
