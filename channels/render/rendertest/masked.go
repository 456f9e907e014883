package rendertest

import (
	"strings"

	"switchboard/internal/secrets"
)

// Secret is a value that must not be shown, and SecretPart a part of it that is not either.
const (
	Secret     = `Zq9Canary"kestrel&47`
	SecretPart = "Zq9Can"
)

// Secrets are texts in Markdown, by name, that show Secret once they are laid out, and in none
// of which it stands as it is.
func Secrets() map[string]string {
	const rest = `"kestrel&47`
	return map[string]string{
		"bold":         "It is Zq9Can**ary**" + rest + ", **really**.",
		"nested":       "It is **Zq9*Can*a**ry" + rest + " here.",
		"span across":  "**It is Zq9Can**_ary" + rest + " here_",
		"struck":       "It is Zq9Can~~ary~~" + rest + ".",
		"spoiler":      "It is ||Zq9||Canary" + rest + ".",
		"code":         "It is Zq9Can`ary`" + rest + ".",
		"entities":     "It is Zq9C&#97;nary&quot;kestrel&amp;47.",
		"escape":       `It is Zq9Canary\"kestrel&47.`,
		"soft break":   "It is Zq9Can \nary" + rest + ".",
		"hard break":   "It is Zq9Can\\\nary" + rest + ".",
		"quoted":       "> It is Zq9Can\n> ary" + rest + ".",
		"heading":      "# It is _Zq9_**Canary" + rest + "**",
		"item":         "- It is Zq9Can**ary**" + rest + "\n- more",
		"table":        "| a | b |\n|---|---|\n| Zq9Can**ary**" + rest + " | c |",
		"link":         "It is [Zq9Canary](https://a.example)" + rest + ".",
		"address":      "It is [here](https://a.example/Zq9C&#97;nary&quot;kestrel&amp;47).",
		"no character": "It is Zq9Can\x00ary" + rest + ".",
		"no width":     "It is Zq9Can\u200bary" + rest + ".",
		"lines":        "It is\n" + strings.Join(strings.Split(Secret, ""), "\n"),
		"twice":        "Zq9Can**ary**" + rest + " and Zq9**Can**ary" + rest + " **and more**",
	}
}

// mask knows Secret.
var mask = secrets.NewMasker(Secret)

// Masked is a text without Secret where it stands as it is.
func Masked(markdown string) string { return mask.Text(markdown) }

// Find finds Secret for a render.Mask.
func Find(text string) (found [][2]int, upTo int) { return mask.Find(text, false) }
