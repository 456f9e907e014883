package words

import "strings"

// consents are the words by which people say yes and no, in English, German, Italian, Spanish and French.
var consents = map[bool]string{
	true: "yes|y|yeah|yep|yup|ok|okay|sure|allow|allow it|do it|go ahead|yes please|please do|" +
		"ja|jo|jawohl|klar|ja bitte|mach das|mach es|in ordnung|erlauben|" +
		"sì|si|certo|va bene|sì grazie|fallo|d'accordo|consenti|" +
		"sí|claro|vale|dale|de acuerdo|hazlo|sí por favor|permitir|" +
		"oui|d'accord|vas-y|bien sûr|oui merci|autoriser",
	false: "no|n|nope|don't|do not|deny|no thanks|no thank you|" +
		"nein|nö|nee|lieber nicht|nein danke|ablehnen|" +
		"no grazie|rifiuta|meglio di no|" +
		"no gracias|mejor no|rechazar|" +
		"non|non merci|refuser",
}

// Consent says whether a text is a plain yes or no and nothing else, in five languages: case, spaces around
// it and a full stop or an exclamation mark at its end do not matter.
func Consent(text string) (yes, plain bool) {
	text = strings.ToLower(strings.Join(strings.Fields(strings.TrimRight(strings.TrimSpace(text), ".!")), " "))
	text = strings.NewReplacer("’", "'", ",", "").Replace(text)
	if text == "" || strings.Contains(text, "|") {
		return false, false
	}
	for yes, list := range consents {
		if strings.Contains("|"+list+"|", "|"+text+"|") {
			return yes, true
		}
	}
	return false, false
}
