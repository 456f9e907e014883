package offline

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// judge believes the word with which the task ended: "Ended: ok".
func judge(p prompt) map[string]any {
	out := p.get("Output")
	end := out.field("Ended")
	if end == "" || end == "ok" {
		return map[string]any{"status": "ok", "reason": nil, "learn": nil}
	}
	reason := "the task ended with " + end
	if hint := out.field("Hint"); hint != "" {
		reason += ", hint: " + hint
	}
	if len(out.fences) > 0 && out.fences[0] != "" {
		text := strings.TrimSpace(out.fences[0])
		reason += "; it said: " + clip(text[strings.LastIndexByte(text, '\n')+1:], 200)
	}
	return map[string]any{"status": "replan", "reason": reason, "learn": nil}
}

// failure tells what failed, but not again what the person read as reason for this plan.
func failure(s section) string {
	what, ended := cmp.Or(s.field("Command"), s.field("Tool")), s.field("Ended")
	if what == "" || ended == "" {
		return "I could not do that: " + clip(s.said(), 300)
	}
	text := fmt.Sprintf("I could not do that: `%s` ended with %s.", clip(what, 200), ended)
	_, told, _ := strings.Cut(s.text()+strings.Join(s.fences[min(1, len(s.fences)):], ""), "The reviewer's reason:")
	if hint := s.field("Hint"); hint != "" && !strings.Contains(told, hint) {
		text += " Advice: " + strings.TrimSuffix(hint, ".") + "."
	}
	if len(s.fences) > 0 && s.fences[0] != "" && !strings.Contains(told, strings.TrimSpace(s.fences[0])) {
		text += "\n\n" + block(s.fences[0], 1000)
	}
	return text
}

var aPlace = regexp.MustCompile(`\bin (.+?) \([\w/+-]+\)`)

// work restates the last task's output.
func work(p prompt) string {
	outputs := p.get("Outputs of earlier tasks")
	if len(outputs.fences) == 0 {
		return needsModel
	}
	text := outputs.fences[len(outputs.fences)-1]
	if told, ok := tellTime(text, p.get("Task").said()); ok {
		return told
	}
	if text == "" {
		return "Done; there was no output."
	}
	return block(text, 8000)
}

// tellTime makes a sentence of what the tool "time" brings.
func tellTime(text, detail string) (string, bool) {
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		values[name] = strings.TrimSpace(value)
	}
	at, err := time.Parse("2006-01-02 15:04", values["local"])
	if err != nil || values["zone"] == "" {
		return "", false
	}
	where := "(" + values["zone"] + ")"
	if m := aPlace.FindStringSubmatch(detail); m != nil {
		where = "in " + m[1] + " " + where
	}
	return fmt.Sprintf("It is %s on %s %s.", at.Format("15:04"), at.Format("Monday, 2 January 2006"), where), true
}

// block is text as a code block, whatever backticks it holds.
func block(text string, limit int) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + clip(text, limit) + "\n" + fence
}

func clip(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return fmt.Sprintf("%s… (%d characters more)", string(r[:limit]), len(r)-limit)
	}
	return text
}
