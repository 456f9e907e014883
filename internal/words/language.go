package words

// A Text says the same in each language that we speak.
type Text struct{ EN, DE, ES, FR, IT string }

// In is the text in a language, by its two letters; where there is none, in English.
func (t Text) In(language string) string {
	said := map[string]string{"de": t.DE, "es": t.ES, "fr": t.FR, "it": t.IT}[language]
	if said == "" {
		return t.EN
	}
	return said
}
