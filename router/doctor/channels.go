package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
)

// A Channel is a channel of the settings as it is now.
type Channel struct {
	channels.Status
	Is    string // how it is, since when and why, in words
	Rules string // who may write there, in words
	Fixed bool   // every engine has it, and nobody switches it off
}

// A ChannelKeeper knows the channels of the settings.
type ChannelKeeper interface {
	// Channels lists them in the order of their names, with times in a zone.
	Channels(zone *time.Location) []Channel
	// TestChannel asks a channel's platform what it knows of the bot.
	TestChannel(ctx context.Context, name string, zone *time.Location) []Finding
}

// A SetFunc changes settings for whoever gave a command, and answers it.
type SetFunc func(ctx context.Context, c *commands.Call, set map[string]string) (commands.Answer, error)

// ChannelCommands are the rows of /channels and /channel. A channel is switched on and off by its setting.
func ChannelCommands(keeper ChannelKeeper, set SetFunc) []commands.Command {
	return []commands.Command{{
		Name: "channels", Admin: true, About: commands.Text{
			EN: "the channels and their state", DE: "die Kanäle, und wie es ihnen geht", ES: "los canales, y cómo están",
			FR: "les canaux, et comment ils vont", IT: "i canali, e come stanno",
		},
		Run: func(_ context.Context, c *commands.Call) (commands.Answer, error) {
			return listChannels(keeper.Channels(c.Zone()), c), nil
		},
	}, {
		Name: "channel", Admin: true, Typed: true, Args: "NAME [test|enable|disable]", About: commands.Text{
			EN: "one channel: how it is, test it, switch it on or off", DE: "ein Kanal: wie es ihm geht, ihn testen, ein- oder ausschalten",
			ES: "un canal: cómo está, probarlo, activarlo o desactivarlo", FR: "un canal : comment il va, l'essayer, l'activer ou le couper",
			IT: "un canale: come sta, provarlo, accenderlo o spegnerlo",
		},
		Run: func(ctx context.Context, c *commands.Call) (commands.Answer, error) {
			name, verb, _ := strings.Cut(c.Args, " ")
			verb = strings.ToLower(strings.TrimSpace(verb))
			if name == "" {
				return commands.Says(channelUsage, c.Slash), nil
			}
			list := keeper.Channels(c.Zone())
			i := slices.IndexFunc(list, func(ch Channel) bool { return ch.Name == name })
			switch {
			case i < 0:
				return noChannel(list, name, c), nil
			case verb == "":
				return inDetail(&list[i], c), nil
			case list[i].Fixed && verb != "test":
				return commands.Says("Nobody switches that one on or off: it is there for whoever runs me on this machine."), nil
			case verb == "disable" && name == c.Conversation().Channel:
				return commands.Says("Here you speak with me: once it is off I cannot hear you confirm it. Write that on another channel, or `switchboard config set channels.%s.enabled false` on the machine that I run on.", name), nil
			case verb == "enable" && list[i].State != channels.StateDisabled:
				return commands.Says("%s is switched on already.", render.Escape(name)), nil
			case verb == "enable" || verb == "disable":
				return set(ctx, c, map[string]string{"channels." + name + ".enabled": fmt.Sprint(verb == "enable")})
			case verb == "test":
				return testChannel(keeper, name, c.Zone()), nil
			}
			return commands.Says(channelUsage, c.Slash), nil
		},
	}}
}

const channelUsage = "Write: `%[1]schannel NAME` says how a channel is, `%[1]schannel NAME test` asks its platform, `%[1]schannel NAME disable` switches it off and `%[1]schannel NAME enable` on."

func listChannels(list []Channel, c *commands.Call) commands.Answer {
	_, after, _ := strings.Cut(c.Args, "after ")
	list = slices.DeleteFunc(list, func(ch Channel) bool { return ch.Name <= after })
	if len(list) == 0 {
		return commands.Says("There are no more channels.")
	}
	var b strings.Builder
	var buttons []commands.Button
	shown, more := commands.Shown(list)
	for _, ch := range shown {
		fmt.Fprintf(&b, "- %s (%s)\n", render.Escape(words.OneLine(ch.Is, 200)), ch.Kind)
		buttons = append(buttons, commands.Button{Label: "More of " + ch.Name, Command: "channel " + ch.Name})
	}
	if more {
		buttons = append(buttons, commands.Button{Label: "More channels", Command: "channels after " + shown[len(shown)-1].Name})
	}
	return commands.Answer{Text: b.String(), Taint: tools.Label, Buttons: buttons}
}

func noChannel(list []Channel, name string, c *commands.Call) commands.Answer {
	names := make([]string, len(list))
	for i, ch := range list {
		names[i] = ch.Name
	}
	said := commands.Meant("There is no channel "+render.Escape(words.OneLine(name, 40)), name, names, render.Escape)
	return commands.Says("%s \"%schannels\" lists them.", said, c.Slash)
}

func inDetail(ch *Channel, c *commands.Call) commands.Answer {
	text := fmt.Sprintf("%s.\n- kind %s\n- %s", render.Escape(ch.Is), ch.Kind, render.Escape(ch.Rules))
	for _, last := range []struct {
		what string
		at   time.Time
	}{{"the platform last spoke", ch.LastFrame}, {"the last event came", ch.LastEvent}} {
		if !last.at.IsZero() {
			text += fmt.Sprintf("\n- %s %s", last.what, last.at.In(c.Zone()).Format("2006-01-02 15:04:05 MST"))
		}
	}
	answer := commands.Answer{Text: text, Taint: tools.Label}
	verbs := []string{"test", "disable"}
	switch {
	case ch.Fixed:
		verbs = nil
	case ch.State == channels.StateDisabled:
		verbs[1] = "enable"
	case ch.Name == c.Conversation().Channel:
		verbs = verbs[:1]
	}
	for _, verb := range verbs {
		answer.Buttons = append(answer.Buttons, commands.Button{Label: strings.ToUpper(verb[:1]) + verb[1:], Command: "channel " + ch.Name + " " + verb})
	}
	return answer
}

func testChannel(keeper ChannelKeeper, name string, zone *time.Location) commands.Answer {
	return commands.Answer{
		Text: fmt.Sprintf("Checking the channel %s; I'll report here in a minute.", render.Escape(name)),
		Background: func(ctx context.Context) commands.Answer {
			began := time.Now()
			found := keeper.TestChannel(ctx, name, zone)
			took := time.Since(began).Round(time.Millisecond)
			said, bad := "is well", 0
			lines := make([]string, len(found))
			for i := range found {
				lines[i] = found[i].line()
				if !found[i].OK {
					bad++
				}
			}
			if bad > 0 {
				said = "is not well"
			}
			return commands.Answer{Text: fmt.Sprintf("%s %s; the check took %s.\n%s", render.Escape(name), said, took, strings.Join(lines, "\n")), Taint: tools.Label}
		},
	}
}
