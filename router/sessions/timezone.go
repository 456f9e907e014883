package sessions

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
)

// PersonZone is the change by which a person has a time zone of their own, which is read as /timezone reads it. An error is for
// people.
func PersonZone(person, text string) (*Change, error) {
	name, err := words.Zone(text)
	if err != nil {
		return nil, err
	}
	return &Change{Of: TimeZone, To: name, Person: person}, nil
}

// timeZone is /timezone: of the chat, and in a direct one of the person.
func (r *Commands) timeZone(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	switch {
	case c.Args == "":
		return commands.Says("The time zone here is %s. Write /timezone and a city to set another, or /timezone default to go back to yours.", c.TimeZone), nil
	case c.Args == asSettings:
		return set(c, TimeZone, "", "The time zone here is "+r.Now().Zone("", c.Person.TimeZone)+".")
	case clockShape.MatchString(c.Args):
		return zonesAt(c.Args, time.Now()), nil
	}
	name, err := words.Zone(c.Args)
	switch {
	case err != nil && strings.HasSuffix(err.Error(), "?"):
		return commands.Says("%s", render.Escape(err.Error())), nil
	case err != nil:
		return commands.Says("%s. What time is it where you are? Write \"%stimezone 14:30\".", render.Escape(err.Error()), c.Slash), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return commands.Answer{}, err
	}
	said := fmt.Sprintf("The time zone here is %s: it is %s there.", render.Escape(name), time.Now().In(zone).Format("15:04"))
	answer, err := set(c, TimeZone, name, said)
	change, ok := answer.Change.(*Change)
	direct := c.Direct()
	if !direct && c.Person.TimeZone == "" { // in a group each tells theirs
		if assumes, errNow := r.Assumes(ctx, c.Person.Name); errNow != nil {
			return answer, errNow
		} else if assumes {
			change, ok = &Change{Conversation: c.Conversation(), Of: TimeZone, To: name, Aside: true}, true
			said = fmt.Sprintf("Your time zone is %s: it is %s there.", render.Escape(name), time.Now().In(zone).Format("15:04"))
			answer, direct = commands.Answer{Change: change}, true
		}
	}
	if ok && direct {
		change.Person = c.Person.Name
		answer.Say = func() commands.Answer {
			if n := len(change.Moved); n > 0 {
				said += fmt.Sprintf(" I moved %s to it.", words.Count(n, "job"))
			}
			return commands.Answer{Text: said}
		}
	}
	return answer, err
}

var clockShape = regexp.MustCompile(`(?i)^(?:[01]?\d|2[0-3])[:.][0-5]\d ?([ap]m)?$`)

// somewhere are zones by which people know theirs, one of each usual distance from UTC or rule for summer.
var somewhere = strings.Fields("Pacific/Honolulu America/Anchorage America/Los_Angeles America/Denver America/Phoenix America/Chicago America/Mexico_City America/Bogota America/New_York " +
	"America/Halifax America/Santiago America/Sao_Paulo America/Buenos_Aires UTC Europe/London Europe/Lisbon Africa/Lagos Europe/Berlin Europe/Paris Europe/Athens Africa/Johannesburg " +
	"Europe/Istanbul Africa/Nairobi Asia/Tehran Asia/Dubai Asia/Kabul Asia/Karachi Asia/Kolkata Asia/Kathmandu Asia/Dhaka Asia/Yangon Asia/Bangkok Asia/Shanghai Asia/Singapore Asia/Tokyo Australia/Brisbane Australia/Adelaide Australia/Sydney Pacific/Auckland")

// zonesAt has somebody choose among the zones in which the clock shows a time now, more or less.
func zonesAt(shown string, now time.Time) commands.Answer {
	at, err := time.Parse("15:04", strings.Replace(shown, ".", ":", 1))
	if half := clockShape.FindStringSubmatch(shown)[1]; half != "" {
		at, err = time.Parse("3:04pm", strings.ToLower(strings.ReplaceAll(strings.Replace(shown, ".", ":", 1), " ", "")))
	}
	answer := commands.Says("Which of these is yours?")
	for _, name := range somewhere {
		zone, errZone := time.LoadLocation(name)
		if err != nil || errZone != nil {
			continue
		}
		there := now.In(zone)
		apart := (there.Hour()-at.Hour())*60 + there.Minute() - at.Minute()
		if apart = ((apart%1440)+1440+720)%1440 - 720; apart > -20 && apart < 20 {
			label := strings.ReplaceAll(name[strings.LastIndex(name, "/")+1:], "_", " ")
			answer.Buttons = append(answer.Buttons, commands.Button{Label: label, Command: "timezone " + name, Either: true})
		}
	}
	if len(answer.Buttons) == 0 {
		return commands.Says("I know no large city where it is %s now. Write the name of your time zone, such as Europe/Rome.", shown)
	}
	return answer
}

// TellsClock says that a text is a time of day, by which somebody may say where they are.
func TellsClock(text string) bool { return clockShape.MatchString(text) }
