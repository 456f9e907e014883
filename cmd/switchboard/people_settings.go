package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/configs"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

// setPeople writes whom the settings name into the database. A usageError: they cannot be taken.
func (e *engine) setPeople(ctx context.Context, s *configs.Settings) error {
	set, err := e.db.Router().SetPeople(ctx, withOwner(s.Directory()))
	if _, is := errors.AsType[*people.FaultsError](err); is {
		return usageError{peopleFaults(s, err)}
	} else if err != nil {
		return fmt.Errorf("write the people of the settings: %w", err)
	}
	e.back = append(e.back, set.Back...)
	maps.Copy(e.paused, set.Paused)
	return nil
}

// peopleFaults makes what is wrong with the people of settings faults of these.
func peopleFaults(s *configs.Settings, err error) error {
	wrong, is := errors.AsType[*people.FaultsError](err)
	if !is {
		return err
	}
	var faults configs.Faults
	for _, text := range wrong.Faults {
		faults = append(faults, configs.Fault{Source: s.FileName(), Key: "people", Text: text})
	}
	return faults
}

// tellPeople notifies the admins of who is away and who is back, once of each time, where this engine has
// the channels to reach them.
func (e *engine) tellPeople(ctx context.Context) {
	if e.others == nil {
		return
	}
	away, err := e.db.Router().UntoldAway(ctx)
	var chats []channels.Conversation
	if err == nil && len(away) > 0 {
		chats, err = e.router.Lines.NoticeChats(ctx, outbox.NoticePersonAway)
	}
	if len(chats) > 0 { // else another start tells them, or an engine that has their channel
		names := make([]string, len(away))
		for i, p := range away {
			names[i] = p.Name
		}
		list := strings.Join(names, ", ")
		e.router.Lines.Notify(ctx, outbox.NoticePersonAway, fmt.Sprintf("away: %s %d", list, away[0].Away.UnixMicro()), fmt.Sprintf(
			"Away: %s. The settings file no longer names them, so I do not answer them; their jobs and messages wait. "+
				"Name them again with an identity that they had, and all goes on. To delete one for good: \"switchboard person remove NAME\".", render.Escape(list)))
		err = e.db.Router().ToldAway(ctx, away)
	}
	if err != nil {
		e.log.ErrorContext(ctx, "the admins could not be notified of who is away", "error", err)
	}
	if list := strings.Join(e.back, ", "); list != "" {
		e.back = nil
		e.router.Lines.Notify(ctx, outbox.NoticePersonAway, fmt.Sprintf("back: %s %d", list, time.Now().UnixMicro()), fmt.Sprintf(
			"Back: %s. The settings file names them again; their jobs and messages go on.", render.Escape(list)))
	}
	for name, ids := range e.paused {
		jobs.NotifyPaused(ctx, e.router.Lines, name, "is no admin any more", ids)
	}
	clear(e.paused)
}

// inFile is whom the file names so now, with a fault in it as it was read last; nil: nobody.
func (e *engine) inFile(name string) *core.Person {
	settings := e.settings()
	if now, _, err := settings.Again(settings.Changes()); err == nil {
		settings = now
	}
	people := withOwner(settings.Directory())
	i := slices.IndexFunc(people, func(p core.Person) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &people[i]
}
