package render

import (
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"switchboard/channels"
)

// tripwire is far above what any case takes, and far below what an unbounded one
// would.
const (
	tripwire    = 5 * time.Second
	memoryBound = 64 << 20
)

// bounded fails the test when work takes long or allocates much. It cannot run
// beside others: the heap is everybody's.
func bounded(t *testing.T, work func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	select {
	case <-done:
	case <-time.After(slow * tripwire):
		t.Fatalf("not done after %s", slow*tripwire)
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if slow == 1 && allocated > memoryBound {
		t.Errorf("allocated %d MB", allocated>>20)
	}
	t.Logf("%s, %d MB", took.Round(time.Millisecond), allocated>>20)
}

// promise: P8.bounded-render
func TestSplitIsBounded(t *testing.T) {
	marks := strings.Repeat("\u0301", 400_000)
	zero := func(string) int { return 0 }
	for name, c := range map[string]struct {
		text    string
		limit   int
		measure func(string) int
	}{
		"marks":             {marks, 4096, nil},
		"marks, short":      {marks, 11, nil},
		"marks, bytes":      {marks, 11, measures["bytes"]},
		"marks, cells":      {marks + " aaaa", 2, measures["cells"]},
		"families":          {strings.Repeat("👩\u200d", 100_000), 100, nil},
		"indic":             {strings.Repeat("क\u094d", 60_000), 100, nil},
		"flags":             {strings.Repeat("🇩", 100_000), 100, nil},
		"prepended":         {strings.Repeat("\u0600", 200_000), 100, nil},
		"spaces with marks": {strings.Repeat(" \u0301", 200_000), 100, nil},
		"indentation":       {"a\n" + strings.Repeat(" ", 400_000) + "b", 100, nil},
		"blank lines":       {"a" + strings.Repeat(" \n", 200_000) + "b", 100, nil},
		"one at a time":     {strings.Repeat("a", 200_000), 1, nil},
		"no measure":        {marks, 1, zero},
		"uneven":            {strings.Repeat("a b", 100_000), 100, measures["uneven"]},
		// Every cut at a space is too long; only what ends in a letter fits.
		"measure by its end": {strings.Repeat("ab ", 100_000), 1000, func(s string) int {
			if strings.HasSuffix(s, "b") {
				return len(s) + 5000
			}
			return len(s)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var parts []string
			bounded(t, func() { parts = Split(c.text, c.limit, c.measure) })
			measure := c.measure
			if measure == nil {
				measure = utf8.RuneCountInString
			}
			for i, part := range parts {
				if measure(part) > c.limit && utf8.RuneCountInString(part) > 1 {
					t.Fatalf("part %d measures %d", i, measure(part))
				}
			}
			if bare(strings.Join(parts, "")) != bare(c.text) {
				t.Error("text is lost")
			}
		})
	}
	t.Run("parts", func(t *testing.T) {
		for _, limit := range []int{11, 4096} {
			bounded(t, func() { Parts(marks, channels.Features{MaxText: limit}) })
		}
	})
}

// bare is s without white space.
func bare(s string) string {
	return strings.NewReplacer(" ", "", "\n", "", "\r", "", "\t", "").Replace(s)
}

// promise: P8.bounded-render
func TestPlainIsBounded(t *testing.T) {
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
	for name, c := range map[string]struct {
		source string
		grows  int  // how many times longer it may get; 0: 8
		hides  bool // its marks hold words that are not shown, or not in this order
	}{
		"table":                   {source: table(4000)},
		"many tables":             {source: repeat(table(30)+"\n", 300)},
		"table, dense":            {source: "|" + repeat("a|", 100) + "\n|" + repeat("-|", 100) + "\n" + repeat(repeat("|x", 100)+"|\n", 250), hides: true},
		"table, long header":      {source: "|" + repeat("h", 40_000) + "|b|\n|-|-|\n" + repeat("|x|\n", 10_000)},
		"tables, long headers":    {source: repeat("|"+repeat("h", 300)+"|\n|-|\n"+repeat("|x|\n", 75)+"\n", 100)},
		"table, pipes in code":    {source: "|a|\n|-|\n" + repeat("|`\\|`|\n", 12_000)},
		"open links":              {source: repeat("[a](", 50_000)},
		"open links, angle":       {source: repeat("[a](<b", 30_000)},
		"open links, titles":      {source: repeat("[a](b \"", 20_000)},
		"open links, lines":       {source: repeat("[a](\n", 30_000)},
		"open references":         {source: repeat("[a][", 40_000)},
		"brackets":                {source: repeat("[", 60_000)},
		"brackets, closed":        {source: repeat("[", 30_000) + repeat("]", 30_000)},
		"brackets, pairs":         {source: "[" + repeat("[a]", 40_000) + "]"},
		"brackets, nested links":  {source: repeat("[", 20_000) + "a" + repeat("](b)", 20_000)},
		"images, nested":          {source: repeat("![", 20_000) + repeat("a", 50_000) + repeat("](b)", 20_000)},
		"images, leaves":          {source: repeat(repeat("![", 60)+repeat("](b)", 60)+"\n\n", 250), hides: true},
		"emphasis":                {source: repeat("_a*", 50_000)},
		"emphasis, words":         {source: repeat("*a **a ", 20_000)},
		"emphasis, closers":       {source: repeat("a* ", 40_000) + repeat("a_ ", 40_000)},
		"emphasis, one run":       {source: repeat("*", 50_000) + "a" + repeat("*", 50_000)},
		"emphasis, nested":        {source: repeat("*a _b ", 10_000) + repeat("c_ d* ", 10_000)},
		"emphasis, leaves":        {source: repeat(repeat("_a*", 300)+"\n\n", 100)},
		"struck, one run":         {source: "a" + repeat("~", 100_000)},
		"struck":                  {source: repeat("~a ~~b ", 15_000)},
		"backticks":               {source: distinct(440)},
		"backticks, lines":        {source: distinct(300) + "\n" + repeat("x\n", 30_000)},
		"backticks, one run":      {source: repeat("`", 100_000) + "aa"},
		"backticks, escaped":      {source: repeat("\\```` ", 15_000)},
		"lists in one line":       {source: repeat("- ", 50_000)},
		"lists, mixed":            {source: repeat("- 1. > ", 15_000) + "a\n" + repeat("b\n", 30_000), hides: true},
		"lists, stars":            {source: repeat("* ", 50_000) + "a"},
		"lists, blank lines":      {source: repeat("- ", 50) + "a\n" + repeat("\n", 100_000) + "b"},
		"lists, blank lines, few": {source: repeat("- ", 16) + "a\n" + repeat("\n\n"+repeat(" ", 32)+"a\n", 3_000)},
		"lists, deeper and deeper": {source: func() string {
			var s strings.Builder
			for i := range 400 {
				s.WriteString(repeat("  ", i) + "- a\n")
			}
			return s.String()
		}()},
		"items":                  {source: repeat("-\n", 40_000)},
		"quotes":                 {source: repeat(">", 100_000) + "a"},
		"quotes, lazy lines":     {source: repeat(">", 50_000) + "a\n" + repeat("b\n", 25_000)},
		"quotes, every line":     {source: repeat(repeat("> ", 500)+"a\n", 100)},
		"quotes, headings":       {source: repeat("> #\n\n", 20_000)},
		"tabs":                   {source: repeat("-\t", 30_000) + "a"},
		"indentation":            {source: repeat("- ", 16) + "a\n" + repeat(" ", 100_000) + "b"},
		"definitions":            {source: repeat("[a]: b\n", 20_000)},
		"definitions, open":      {source: repeat("[a]: b \"\n", 15_000)},
		"definitions, leaves":    {source: repeat(repeat("[a]: b\n", 500)+"\n", 30), hides: true},
		"definition, long label": {source: "[" + repeat("a", 100_000) + "]: b\n\n" + repeat("[a]\n\n", 5_000), hides: true},
		"references to one":      {source: "[a]: " + repeat("b", 40_000) + "\n\n" + repeat("[a]\n\n", 10_000), grows: 16, hides: true},
		"tags":                   {source: repeat("<a ", 40_000)},
		"tags, quoted":           {source: "x " + repeat("<a b='", 20_000)},
		"tags, short leaves":     {source: repeat("x "+repeat("<a b=\"c d\" ", 90)+"\n\n", 100)},
		"tags, attributes":       {source: "x <a" + repeat(" b", 50_000)},
		"comments":               {source: "x " + repeat("<!--", 30_000)},
		"declarations":           {source: "x " + repeat("<!A", 30_000) + repeat("<?", 20_000) + repeat("<![CDATA[", 8_000)},
		"html blocks":            {source: repeat("<div>\n\n", 15_000)},
		"html block, long line":  {source: "<div " + repeat("a=b ", 25_000)},
		"autolinks":              {source: repeat("<http:", 20_000)},
		"bare links":             {source: repeat("_www.", 20_000)},
		"bare links, leaves":     {source: repeat(repeat("_www._http://", 150)+"\n\n", 60)},
		"bare links, spaces":     {source: repeat(" http://aaaaaaaa", 7_000)},
		"bare links, dots":       {source: repeat(" www.a.b"+repeat("~", 200), 500)},
		"mail":                   {source: repeat("a@", 50_000)},
		"mail, stars":            {source: repeat("*a@b.c", 15_000)},
		"references":             {source: repeat("&amp", 25_000) + repeat("&#", 20_000) + repeat("&amp;", 10_000), hides: true},
		"backslashes":            {source: repeat("\\", 100_000) + repeat("\\\n", 20_000)},
		"headings":               {source: repeat("# ", 50_000) + "\n" + repeat("a\n=\n", 10_000)},
		"heading, marks":         {source: "# " + repeat("[a](", 25_000)},
		"rules":                  {source: repeat("a\n---\n", 10_000)},
		"fences":                 {source: repeat("```\n~~~\n", 10_000) + repeat("`", 70)},
		"long line":              {source: repeat("word ", 40_000)},
		"lines":                  {source: repeat("a\n", 50_000)},
		"paragraphs":             {source: repeat("a\n\n", 30_000)},
		"combining marks":        {source: "# a" + repeat("\u0301", 100_000)},
		"not UTF-8":              {source: repeat("\xffa", 50_000)},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			bounded(t, func() { got = Parse(c.source).Plain() })
			if most := max(c.grows, 8)*len(c.source) + 1<<16; len(got) > most {
				t.Errorf("%d bytes became %d", len(c.source), len(got))
			}
			rest := strings.Join(words(got), "")
			for _, w := range words(c.source) {
				if c.hides {
					break
				}
				at := strings.Index(rest, w)
				if at < 0 {
					t.Fatalf("%.20q is lost or out of order", w)
				}
				rest = rest[at+len(w):]
			}
		})
	}
}
