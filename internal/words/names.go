package words

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible is text without characters that nobody sees, or that turn the direction of what
// stands around them. Line breaks and tabs become spaces.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case Unseen(r):
			return -1
		}
		return r
	}, text)
}

// blankPattern is the one symbol among the patterns of Braille that shows nothing.
const blankPattern = '\u2800'

// Unseen says that nobody sees r, or that it turns the direction of what stands around it.
func Unseen(r rune) bool {
	return r != ' ' && !unicode.IsPrint(r) || r == blankPattern || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// NameFault says what is wrong with the characters of a person's name; empty: nothing.
func NameFault(name string) string {
	var before rune
	for _, r := range name {
		switch {
		case Unseen(r):
			return fmt.Sprintf("%q holds the character U+%04X, which nobody sees", name, r)
		case unicode.Is(unicode.Mn, r) && unicode.In(before, unicode.Latin, unicode.Greek, unicode.Cyrillic):
			return fmt.Sprintf("%q has the mark U+%04X on a letter: write the two as the one character that they are", name, r)
		}
		before = r
	}
	return ""
}

// Alike says whether two different names look the same: letters of other alphabets, figures, and small
// or large ones stand for those that they look like. Neither may have a NameFault.
func Alike(a, b string) bool { return a != b && strings.EqualFold(looks(a), looks(b)) }

// looks is a name in the plainest characters that look like it.
func looks(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '！' && r <= '～': // as wide as Chinese characters
			r -= '！' - '!'
		case r >= 0x1D400 && r <= 0x1D6A3: // letters for mathematics, 26 large and 26 small ones in each of 13 styles
			r = letters[(r-0x1D400)%52]
		case r >= 0x1D7CE && r <= 0x1D7FF: // and their digits
			r = '0' + (r-0x1D7CE)%10
		}
		if plain, ok := confusable[r]; ok {
			return plain
		}
		return r
	}, name)
}

var letters = []rune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

// confusable are letters by what they look like in common fonts: those with which names of Latin
// letters can be written.
//
// Source: Unicode Technical Standard 39, confusables.txt.
var confusable = func() map[rune]rune {
	all := map[rune]rune{}
	for _, alphabet := range []string{
		"аa сc еe оo рp хx уy іi јj ѕs һh ԁd ԛq ԝw ѵv ӏl кk АA ВB СC ЕE НH Іl ЈJ КK МM ОO РP ЅS ТT ХX УY ҮY ԚQ ԜW Ӏl", // Cyrillic
		"οo αa νv ιi ρp κk τt υu γy ϲc ϳj ΑA ΒB ΕE ΖZ ΗH Ιl ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX",                                  // Greek
		"օo ոn սu հh ցg ՕO ՍU ԼL",                      // Armenian
		"ıi ɩi ɑa ɡg ſs ꞁl ᴏo ᴄc ᴠv ᴡw ᴢz ꜱs",          // Latin
		"ᎪA ᏴB ᏟC ᎬE ᎻH ᎫJ ᏦK ᏞL ᎷM ᏢP ᎡR ᏚS ᎢT ᎳW ᏃZ", // Cherokee
		"Il 1l |l 0O",
	} {
		for pair := range strings.FieldsSeq(alphabet) {
			two := []rune(pair)
			all[two[0]] = two[1]
		}
	}
	return all
}()
