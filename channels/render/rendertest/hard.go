// Package rendertest holds texts that are hard to render in bounded time and space,
// for the tests of everything that renders.
package rendertest

import "strings"

// A Text is hard to render.
type Text struct {
	Source string
	Grows  int  // how many times longer plain text may get; 0: 8
	Hides  bool // its marks hold words that are not shown, or not in this order
}

// Hard lists the texts by name.
func Hard() map[string]Text {
	repeat := strings.Repeat
	table := func(n int) string {
		return "|" + repeat("a|", n) + "\n|" + repeat("-|", n) + "\n" + repeat("|x\n", n)
	}
	distinct := func(n int) string { // no two runs of backticks match
		var s strings.Builder
		for i := range n {
			s.WriteString("x" + repeat("`", n-i))
		}
		return s.String()
	}
	return map[string]Text{
		"table":                   {Source: table(4000)},
		"many tables":             {Source: repeat(table(30)+"\n", 300)},
		"table, dense":            {Source: "|" + repeat("a|", 100) + "\n|" + repeat("-|", 100) + "\n" + repeat(repeat("|x", 100)+"|\n", 250), Hides: true},
		"table, long header":      {Source: "|" + repeat("h", 40_000) + "|b|\n|-|-|\n" + repeat("|x|\n", 10_000)},
		"tables, long headers":    {Source: repeat("|"+repeat("h", 300)+"|\n|-|\n"+repeat("|x|\n", 75)+"\n", 100)},
		"table, pipes in code":    {Source: "|a|\n|-|\n" + repeat("|`\\|`|\n", 12_000)},
		"open links":              {Source: repeat("[a](", 50_000)},
		"open links, angle":       {Source: repeat("[a](<b", 30_000)},
		"open links, titles":      {Source: repeat("[a](b \"", 20_000)},
		"open links, lines":       {Source: repeat("[a](\n", 30_000)},
		"open references":         {Source: repeat("[a][", 40_000)},
		"brackets":                {Source: repeat("[", 60_000)},
		"brackets, closed":        {Source: repeat("[", 30_000) + repeat("]", 30_000)},
		"brackets, pairs":         {Source: "[" + repeat("[a]", 40_000) + "]"},
		"brackets, nested links":  {Source: repeat("[", 20_000) + "a" + repeat("](b)", 20_000)},
		"images, nested":          {Source: repeat("![", 20_000) + repeat("a", 50_000) + repeat("](b)", 20_000)},
		"images, leaves":          {Source: repeat(repeat("![", 60)+repeat("](b)", 60)+"\n\n", 250), Hides: true},
		"emphasis":                {Source: repeat("_a*", 50_000)},
		"emphasis, words":         {Source: repeat("*a **a ", 20_000)},
		"emphasis, closers":       {Source: repeat("a* ", 40_000) + repeat("a_ ", 40_000)},
		"emphasis, one run":       {Source: repeat("*", 50_000) + "a" + repeat("*", 50_000)},
		"emphasis, nested":        {Source: repeat("*a _b ", 10_000) + repeat("c_ d* ", 10_000)},
		"emphasis, leaves":        {Source: repeat(repeat("_a*", 300)+"\n\n", 100)},
		"struck, one run":         {Source: "a" + repeat("~", 100_000)},
		"struck":                  {Source: repeat("~a ~~b ", 15_000)},
		"backticks":               {Source: distinct(440)},
		"backticks, lines":        {Source: distinct(300) + "\n" + repeat("x\n", 30_000)},
		"backticks, one run":      {Source: repeat("`", 100_000) + "aa"},
		"backticks, escaped":      {Source: repeat("\\```` ", 15_000)},
		"lists in one line":       {Source: repeat("- ", 50_000)},
		"lists, mixed":            {Source: repeat("- 1. > ", 15_000) + "a\n" + repeat("b\n", 30_000), Hides: true},
		"lists, stars":            {Source: repeat("* ", 50_000) + "a"},
		"lists, blank lines":      {Source: repeat("- ", 50) + "a\n" + repeat("\n", 100_000) + "b"},
		"lists, blank lines, few": {Source: repeat("- ", 16) + "a\n" + repeat("\n\n"+repeat(" ", 32)+"a\n", 3_000)},
		"lists, deeper and deeper": {Source: func() string {
			var s strings.Builder
			for i := range 400 {
				s.WriteString(repeat("  ", i) + "- a\n")
			}
			return s.String()
		}()},
		"items":                  {Source: repeat("-\n", 40_000)},
		"quotes":                 {Source: repeat(">", 100_000) + "a"},
		"quotes, lazy lines":     {Source: repeat(">", 50_000) + "a\n" + repeat("b\n", 25_000)},
		"quotes, every line":     {Source: repeat(repeat("> ", 500)+"a\n", 100)},
		"quotes, headings":       {Source: repeat("> #\n\n", 20_000)},
		"tabs":                   {Source: repeat("-\t", 30_000) + "a"},
		"indentation":            {Source: repeat("- ", 16) + "a\n" + repeat(" ", 100_000) + "b"},
		"definitions":            {Source: repeat("[a]: b\n", 20_000)},
		"definitions, open":      {Source: repeat("[a]: b \"\n", 15_000)},
		"definitions, leaves":    {Source: repeat(repeat("[a]: b\n", 500)+"\n", 30), Hides: true},
		"definition, long label": {Source: "[" + repeat("a", 100_000) + "]: b\n\n" + repeat("[a]\n\n", 5_000), Hides: true},
		"references to one":      {Source: "[a]: " + repeat("b", 40_000) + "\n\n" + repeat("[a]\n\n", 10_000), Grows: 16, Hides: true},
		"tags":                   {Source: repeat("<a ", 40_000)},
		"tags, quoted":           {Source: "x " + repeat("<a b='", 20_000)},
		"tags, short leaves":     {Source: repeat("x "+repeat("<a b=\"c d\" ", 90)+"\n\n", 100)},
		"tags, attributes":       {Source: "x <a" + repeat(" b", 50_000)},
		"comments":               {Source: "x " + repeat("<!--", 30_000)},
		"declarations":           {Source: "x " + repeat("<!A", 30_000) + repeat("<?", 20_000) + repeat("<![CDATA[", 8_000)},
		"html blocks":            {Source: repeat("<div>\n\n", 15_000)},
		"html block, long line":  {Source: "<div " + repeat("a=b ", 25_000)},
		"autolinks":              {Source: repeat("<http:", 20_000)},
		"bare links":             {Source: repeat("_www.", 20_000)},
		"bare links, leaves":     {Source: repeat(repeat("_www._http://", 150)+"\n\n", 60)},
		"bare links, spaces":     {Source: repeat(" http://aaaaaaaa", 7_000)},
		"bare links, dots":       {Source: repeat(" www.a.b"+repeat("~", 200), 500)},
		"mail":                   {Source: repeat("a@", 50_000)},
		"mail, stars":            {Source: repeat("*a@b.c", 15_000)},
		"references":             {Source: repeat("&amp", 25_000) + repeat("&#", 20_000) + repeat("&amp;", 10_000), Hides: true},
		"backslashes":            {Source: repeat("\\", 100_000) + repeat("\\\n", 20_000)},
		"headings":               {Source: repeat("# ", 50_000) + "\n" + repeat("a\n=\n", 10_000)},
		"heading, marks":         {Source: "# " + repeat("[a](", 25_000)},
		"rules":                  {Source: repeat("a\n---\n", 10_000)},
		"fences":                 {Source: repeat("```\n~~~\n", 10_000) + repeat("`", 70)},
		"long line":              {Source: repeat("word ", 40_000)},
		"lines":                  {Source: repeat("a\n", 50_000)},
		"paragraphs":             {Source: repeat("a\n\n", 30_000)},
		"combining marks":        {Source: "# a" + repeat("\u0301", 100_000)},
		"not UTF-8":              {Source: repeat("\xffa", 50_000)},
		"spoilers":               {Source: repeat("||a ", 20_000) + repeat("||", 30_000)},
		"spoilers, pairs":        {Source: repeat("||a|| ", 15_000)},
		"notes":                  {Source: repeat("[^a] ", 15_000) + "\n\n[^a]: b\n" + repeat("[^b", 10_000)},
		"notes, defined":         {Source: repeat("[^a]: b\n", 10_000) + repeat("\n[a]: b\n[^a]: c\n", 5_000), Hides: true},
		"links to one, live":     {Source: "[a]: https://x.test/" + repeat("b", 2_000) + "\n\n" + repeat("[a]\n\n", 10_000), Grows: 16, Hides: true},
		"table, live header":     {Source: "|[h](https://x.test/" + repeat("b", 2_000) + ")|\n|-|\n" + repeat("|x|\n", 10_000), Hides: true},
		"attachments":            {Source: repeat("![a](attachment:1)", 6_000), Hides: true},
		"attachments, nested":    {Source: repeat(repeat("![", 60)+repeat("](attachment:1)", 60)+"\n\n", 90), Hides: true},
		"styles around code":     {Source: repeat("***~~||`a` ", 40) + "b" + repeat("||~~***", 40) + "\n\n" + repeat("***~~||"+repeat("`a` b ", 200)+"||~~***\n\n", 60)},
		"code, languages":        {Source: repeat("```"+repeat("l", 30)+"\n"+repeat("x\n", 100)+"```\n", 200)},
		"code, long language":    {Source: "```" + repeat("l", 4_000) + "\n" + repeat("x\n", 20_000) + "```\n"},
		"code, long fence":       {Source: repeat("~", 100) + "\n" + repeat("`", 63) + "\n" + repeat("x\n", 40_000)},
		"quoted fence":           {Source: repeat("> ", 16) + "```go\n" + repeat(repeat("> ", 16)+"x\n", 2_000)},
	}
}
