package settings

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
)

// Keeper are those of the program, and what would become of them.
type Keeper interface {
	// Settings are those that count now, in the order of the sample file.
	Settings() []Setting
	// SettingsDiff is what was changed at run time.
	SettingsDiff(ctx context.Context) ([]Difference, error)
	// SettingsVersions lists the versions, the newest first.
	SettingsVersions(ctx context.Context, limit int) ([]Version, error)
	// SettingsCounting is the version by which the program goes.
	SettingsCounting() int64
	// PlanSettings says what a change of settings would do, asked for in a conversation. Nothing is
	// changed. An error is for people where it is a *core.StateError.
	PlanSettings(ctx context.Context, at channels.Conversation, set map[string]string, unset ...string) (*Plan, error)
	// PlanUndo is PlanSettings of taking a version back; 0: the newest that nothing has taken back.
	PlanUndo(ctx context.Context, at channels.Conversation, version int64) (*Plan, error)
}

const (
	settingsShown = 20
	versionsShown = 5
)

const usage = "/config shows what was changed, `get KEY` what is set (or `get router`, a whole table), `set KEY VALUE` changes it (one setting a message), `unset KEY` goes back to the value in the file, " +
	"`diff` compares with the file, `undo` or `undo NUMBER` takes a change back, `confirm` keeps one that has to be confirmed."

const onePerMessage = "Nothing was changed: I take one setting a message, so that each can be looked at, confirmed and taken back for itself. " +
	"Send them one after the other. For a new channel: first its kind, then its address, then its token."

// Command is the row of /config.
func Command(s Keeper) commands.Command {
	return commands.Command{
		Name: "config", Admin: true, Free: true, Args: "[get|set|unset|diff|undo|confirm …]", About: commands.Text{
			EN: "the settings, changed while I run", DE: "die Einstellungen, geändert während ich laufe", ES: "la configuración, cambiada mientras funciono",
			FR: "les réglages, changés pendant que je tourne", IT: "le impostazioni, cambiate mentre giro",
		},
		Run: func(ctx context.Context, c *commands.Call) (commands.Answer, error) {
			return answered(run(ctx, s, c))
		},
	}
}

// answered is an answer, or why it is refused.
func answered(answer commands.Answer, err error) (commands.Answer, error) {
	if refused, ok := errors.AsType[*core.StateError](err); ok {
		return commands.Answer{Text: render.Escape(refused.Sentence)}, nil
	}
	return answer, err
}

// Setter changes settings for whoever gave a command.
func Setter(s Keeper) func(context.Context, *commands.Call, map[string]string) (commands.Answer, error) {
	return func(ctx context.Context, c *commands.Call, set map[string]string) (commands.Answer, error) {
		return answered(setAll(ctx, s, c, set))
	}
}

func setAll(ctx context.Context, s Keeper, c *commands.Call, set map[string]string) (commands.Answer, error) {
	plan, err := s.PlanSettings(ctx, c.Conversation(), set)
	return planned(plan, c.Conversation(), err)
}

func run(ctx context.Context, s Keeper, c *commands.Call) (commands.Answer, error) {
	verb, rest := commands.FirstWord(c.Args)
	key, _ := commands.FirstWord(rest)
	at := c.Conversation()
	switch verb = strings.ToLower(verb); {
	case verb == "":
		return listVersions(ctx, s, c.Zone())
	case verb == "get" && key != "":
		return get(s, key), nil
	case verb == "set":
		if strings.Contains(rest, "\n") {
			return commands.Says(onePerMessage), nil
		}
		if _, value := commands.FirstWord(rest); value != "" {
			return setAll(ctx, s, c, map[string]string{key: Unquoted(value)})
		}
	case verb == "unset" && key != "":
		plan, err := s.PlanSettings(ctx, at, nil, key)
		return planned(plan, at, err)
	case verb == "diff":
		diff, err := s.SettingsDiff(ctx)
		if err != nil || len(diff) > 0 {
			return commands.Answer{Text: "What differs from the file and the defaults:\n" + diffLines(diff)}, err
		}
		return commands.Says("All is as the file and the defaults say."), nil
	case verb == "undo", verb == "confirm":
		version, err := strconv.ParseInt(strings.TrimPrefix(key, "#"), 10, 64)
		if key != "" && (err != nil || version < 1) {
			break
		}
		if verb == "undo" {
			plan, err := s.PlanUndo(ctx, at, version)
			return planned(plan, at, err)
		}
		change := &Change{Kind: Confirm, ID: version, Conversation: core.SessionKey(at), Counting: s.SettingsCounting()}
		return commands.Answer{Change: change, Say: func() commands.Answer {
			answer := commands.Says("Confirmed: version %d stays.", change.Version.ID)
			answer.Buttons = []commands.Button{undoButton(change.Version)}
			return answer
		}}, nil
	}
	return commands.Says(usage), nil
}

// Unquoted takes a value also as the file has it.
func Unquoted(value string) string {
	value = strings.TrimSpace(strings.TrimPrefix(value, "= "))
	if inner, ok := strings.CutPrefix(value, `"`); ok && strings.Count(value, `"`) == 2 && strings.HasSuffix(inner, `"`) {
		return strings.TrimSuffix(inner, `"`)
	}
	return value
}

func get(s Keeper, key string) commands.Answer {
	var b strings.Builder
	found, all := 0, s.Settings()
	for _, one := range all {
		if one.Key != key && !strings.HasPrefix(one.Key, strings.TrimSuffix(key, ".")+".") && !strings.HasPrefix(one.Key, key+"[") {
			continue
		}
		if found++; found <= settingsShown {
			fmt.Fprintf(&b, "- %s = %s, %s (%s)\n", commands.Code(200, one.Key), commands.Code(200, one.Value), counts(one.Live), render.Escape(one.Source))
		}
	}
	switch {
	case found > settingsShown:
		fmt.Fprintf(&b, "\nand %d more; name a table or a key within it.", found-settingsShown)
	case found == 0:
		return unknownSetting(key, all)
	}
	return commands.Answer{Text: b.String()}
}

func unknownSetting(key string, all []Setting) commands.Answer {
	names := make([]string, 0, len(all))
	seen := map[string]bool{}
	for _, one := range all {
		for name := one.Key; name != "" && !seen[name]; name = name[:max(strings.LastIndexByte(name, '.'), 0)] {
			seen[name] = true
			names = append(names, name)
		}
	}
	code := func(name string) string { return commands.Code(200, name) }
	return commands.Answer{Text: commands.Meant("There is no setting "+code(key), key, names, code)}
}

// planned answers a plan: it is made, or its faults are listed.
func planned(plan *Plan, at channels.Conversation, err error) (commands.Answer, error) {
	if err != nil {
		return commands.Answer{}, err
	}
	if plan.Change == nil {
		return commands.Answer{Text: "Nothing was changed:\n" + bullets(plan.Faults)}, nil
	}
	change := plan.Change
	change.Conversation = core.SessionKey(at)
	return commands.Answer{Change: change, Say: func() commands.Answer {
		v := change.Version
		if change.Kind == Revert {
			return commands.Says("Version %d is taken back: all is as it was before.", v.ID)
		}
		text := fmt.Sprintf("Version %d of the settings.\n%s", v.ID, diffLines(plan.Diff))
		if len(plan.Diff) == 0 {
			text = fmt.Sprintf("Saved; nothing changes. It is version %d of the settings.\n", v.ID)
		}
		text += bullets(plan.Warnings)
		if !v.Waiting() {
			return commands.Answer{Text: text, Buttons: []commands.Button{undoButton(v)}}
		}
		text += fmt.Sprintf("\nThis could lock you out (%s): confirm it here within %.0f s with /config confirm, or I take it back.",
			shortened(strings.Join(plan.LocksOut, ", ")), v.Left.Seconds())
		return commands.Answer{Text: text, Buttons: confirmButtons(v)}
	}}, nil
}

// undoButton takes a version back.
func undoButton(v *Version) commands.Button {
	return commands.Button{Label: "Undo", Command: fmt.Sprintf("config undo %d", v.ID)}
}

// confirmButtons keep a version that has to be confirmed, or take it back.
func confirmButtons(v *Version) []commands.Button {
	undo := undoButton(v)
	undo.Beside = true
	return []commands.Button{{Label: "Confirm", Command: v.ConfirmCommand()}, undo}
}

// listVersions shows what was changed, and the last versions.
func listVersions(ctx context.Context, s Keeper, zone *time.Location) (commands.Answer, error) {
	list, err := s.SettingsVersions(ctx, versionsShown+1)
	if err != nil || len(list) == 0 {
		return commands.Says("Nothing was changed while I run: the settings are those of the file, the environment and the defaults.\n\n%s", usage), err
	}
	diff, err := s.SettingsDiff(ctx)
	if err != nil {
		return commands.Answer{}, err
	}
	text := "All is as the file and the defaults say."
	if len(diff) > 0 {
		text = "Changed while I run:\n" + diffLines(diff)
	}
	text += "\n\nThe last versions:\n"
	for i := range min(len(list), versionsShown) {
		text += "- " + versionLine(&list[i], zone) + "\n"
	}
	return commands.Answer{Text: text + "\n/config undo and a number takes one back."}, nil
}

func versionLine(v *Version, loc *time.Location) string {
	line := fmt.Sprintf("%d, %s %s: %s", v.ID, v.At.In(loc).Format("2006-01-02 15:04 MST"), render.Escape(v.Person), shortened(v.Keys()))
	switch {
	case v.Undoes != 0:
		line += fmt.Sprintf(", undoes %d", v.Undoes)
	case v.Waiting():
		line += fmt.Sprintf(", to be confirmed within %.0f s", v.Left.Seconds())
	case v.Lapsed:
		line += ", not confirmed, so it is not used"
	}
	return line
}

// diffLines says of each setting what it was, is, and when that counts.
func diffLines(diff []Difference) string {
	var b strings.Builder
	for i, d := range diff {
		if i == settingsShown {
			fmt.Fprintf(&b, "- and %d more\n", len(diff)-i)
			break
		}
		switch {
		case d.Was == "":
			fmt.Fprintf(&b, "- %s is %s", commands.Code(200, d.Key), commands.Code(200, d.Is))
		case d.Is == "":
			fmt.Fprintf(&b, "- %s is not there any more, was %s", commands.Code(200, d.Key), commands.Code(200, d.Was))
		default:
			fmt.Fprintf(&b, "- %s is %s, was %s", commands.Code(200, d.Key), commands.Code(200, d.Is), commands.Code(200, d.Was))
		}
		fmt.Fprintf(&b, "; %s\n", counts(d.Live))
	}
	return b.String()
}

func counts(live bool) string {
	if live {
		return "used at once"
	}
	return "used from the next start"
}

func bullets(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("- " + render.Escape(words.OneLine(line, 400)) + "\n")
	}
	return b.String()
}

func shortened(text string) string { return render.Escape(words.OneLine(text, 200)) }
