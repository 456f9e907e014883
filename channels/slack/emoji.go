package slack

import "strings"

// emojiNames are the platform's names of emoji that people react with.
//
// Source: https://docs.slack.dev/reference/methods/reactions.add "name"; the names are
// those of https://github.com/iamcal/emoji-data.
var emojiNames = map[string]string{
	"👍": "+1", "👎": "-1", "❤": "heart", "🔥": "fire", "🎉": "tada", "👏": "clap", "🙏": "pray", "👀": "eyes", "✅": "white_check_mark",
	"❌": "x", "⏳": "hourglass_flowing_sand", "⌛": "hourglass", "🤔": "thinking_face", "😀": "grinning", "😁": "grin", "😄": "smile",
	"😂": "joy", "🙂": "slightly_smiling_face", "😉": "wink", "😍": "heart_eyes", "😢": "cry", "😭": "sob", "😡": "rage", "😮": "open_mouth",
	"🤯": "exploding_head", "🚀": "rocket", "💯": "100", "👌": "ok_hand", "✍": "writing_hand", "💩": "hankey", "⚡": "zap", "🏆": "trophy",
	"🤝": "handshake", "👋": "wave", "💔": "broken_heart", "⭐": "star", "⚠": "warning", "❓": "question", "❗": "exclamation", "🆗": "ok",
	"🤖": "robot_face", "😴": "sleeping", "⏰": "alarm_clock", "📌": "pushpin", "🐛": "bug", "💡": "bulb", "🛑": "octagonal_sign",
}

// aliases are other names of the same.
var aliases = map[string]string{"thumbsup": "+1", "thumbsdown": "-1", "thinking": "thinking_face", "poop": "hankey"}

var emojiByName = func() map[string]string {
	all := map[string]string{}
	for sign, name := range emojiNames {
		all[name] = sign
	}
	for alias, name := range aliases {
		all[alias] = all[name]
	}
	return all
}()

// emojiOf is the emoji of a name; the platform's own name in colons where it has none. A
// skin tone is left out.
func emojiOf(name string) string {
	base, _, _ := strings.Cut(name, "::")
	if sign := emojiByName[base]; sign != "" {
		return sign
	}
	return ":" + base + ":"
}

// nameOfEmoji is the reverse; empty: it has none.
func nameOfEmoji(sign string) string {
	if name, ok := strings.CutPrefix(sign, ":"); ok && strings.HasSuffix(name, ":") {
		return strings.TrimSuffix(name, ":")
	}
	return emojiNames[strings.TrimSuffix(sign, "\ufe0f")]
}
