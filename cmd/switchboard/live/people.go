package live

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
	"switchboard/cmd/switchboard/access"
	"switchboard/configs"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

// SetPeople writes whom the settings name into the database. A configs.UsageError: they cannot be taken.
func (l *Settings) SetPeople(ctx context.Context, s *configs.Settings) error {
	set, err := l.db.Router().SetPeople(ctx, access.People(s))
	if _, is := errors.AsType[*people.FaultsError](err); is {
		return configs.Usage(peopleFaults(s, err))
	} else if err != nil {
		return fmt.Errorf("write the people of the settings: %w", err)
	}
	l.back = append(l.back, set.Back...)
	maps.Copy(l.paused, set.Paused)
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

// notifyPeople notifies the admins of who is away and who is back, once of each time, where this program has
// the channels to reach them.
func (l *Settings) notifyPeople(ctx context.Context) {
	if !l.noticed {
		return
	}
	away, err := l.db.Router().UntoldAway(ctx)
	var chats []channels.Conversation
	if err == nil && len(away) > 0 {
		chats, err = l.program.NoticeChats(ctx, outbox.NoticePersonAway)
	}
	if len(chats) > 0 { // else another start tells them, or an engine that has their channel
		names := make([]string, len(away))
		for i, p := range away {
			names[i] = p.Name
		}
		list := strings.Join(names, ", ")
		l.program.Notify(ctx, outbox.NoticePersonAway, fmt.Sprintf("away: %s %d", list, away[0].Away.UnixMicro()), fmt.Sprintf(
			"Away: %s. The settings file no longer names them, so I do not answer them; their jobs and messages wait. "+
				"Name them again with an identity that they had, and all goes on. To delete one for good: \"switchboard person remove NAME\".", render.Escape(list)))
		err = l.db.Router().ToldAway(ctx, away)
	}
	if err != nil {
		l.log.ErrorContext(ctx, "the admins could not be notified of who is away", "error", err)
	}
	if list := strings.Join(l.back, ", "); list != "" {
		l.back = nil
		l.program.Notify(ctx, outbox.NoticePersonAway, fmt.Sprintf("back: %s %d", list, time.Now().UnixMicro()), fmt.Sprintf(
			"Back: %s. The settings file names them again; their jobs and messages go on.", render.Escape(list)))
	}
	for name, jobs := range l.paused {
		l.program.JobsPaused(ctx, name, "is no admin any more", jobs)
	}
	clear(l.paused)
}

// inFile is whom the file names so now, with a fault in it as it was read last; nil: nobody.
func (l *Settings) inFile(name string) *core.Person {
	settings := l.Now()
	if now, _, err := settings.Again(settings.Changes()); err == nil {
		settings = now
	}
	people := access.People(settings)
	i := slices.IndexFunc(people, func(p core.Person) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &people[i]
}

// JudgePerson is an admin.PeopleJudge. The owner is always left as an admin, and
// may take the last other one away.
func (l *Settings) JudgePerson(by *core.Person, c *people.Change) error {
	if by.Name != access.Owner {
		c.Local = access.Local
	}
	return l.CheckPerson(c)
}

// CheckPerson judges a change as the settings are judged, and adds what they say of it. The owner cannot be kept out.
func (l *Settings) CheckPerson(c *people.Change) error {
	settings, p := l.Now(), &c.Person
	c.File = settings.FileName()
	name := p.Name
	if c.Kind == people.ChangeRemove {
		c.InFile = l.inFile(name)
		c.NotInFile = c.InFile == nil
	}
	switch c.Kind {
	case people.ChangeRole, people.ChangeRemove, people.ChangeTools:
		inFile := slices.ContainsFunc(settings.People, func(p configs.Person) bool { return p.Name == access.Owner })
		if name == access.Owner && !inFile {
			return errors.New("this is the person who runs switchboard on this machine, who is always an admin with all tools")
		}
		name = access.Owner
	case people.ChangeLink:
		name = access.Owner // any that is right: an open policy's have names of their own
	}
	return settings.CheckPerson(name, p.Identities, p.Tools, p.TimeZone)
}
