package web

import (
	"bufio"
	"bytes"
	"embed"
	"html"
	"html/template"
	"io"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"switchboard/channels/render"
)

const (
	// highlightMost is how much code is highlighted, in bytes, and highlightFor how long that may take, of all on a page highlightPage:
	// what is behind stays plain.
	highlightMost = 64 << 10
	highlightFor  = 100 * time.Millisecond
	highlightPage = 300 * time.Millisecond
)

// A formatter writes Markdown as HTML. The zero value is not usable.
type formatter struct {
	url    func(path string) string // of a page of ours
	to     renderer.Renderer
	policy *bluemonday.Policy
}

func newFormatter(url func(string) string) *formatter {
	f := &formatter{url: url, policy: policy()}
	f.to = renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(&nodes{f}, 100),
		util.Prioritized(extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), 500),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
		util.Prioritized(extension.NewTaskCheckBoxHTMLRenderer(), 500),
		util.Prioritized(goldhtml.NewRenderer(goldhtml.WithHardWraps()), 1000),
	))
	return f
}

// policy is what may stand in a text of somebody's: what the renderer below writes, and no more.
func policy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre", "blockquote", "ul", "li", "table", "thead", "tbody", "tr", "details", "summary", "div", "span")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowElements("th", "td")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").OnElements("input")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(code|scrolls|spoiler|lang|[a-z][a-z0-9]{0,2})$`)).OnElements("div", "span")
	p.AllowAttrs("tabindex").Matching(regexp.MustCompile(`^0$`)).OnElements("div")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true) // of files
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnFullyQualifiedLinks(true)
	p.RequireNoReferrerOnFullyQualifiedLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
}

// text is Markdown as HTML. Left is for how long code of its page may still be highlighted; nil: it is alone.
func (f *formatter) text(markdown string, left *time.Duration) template.HTML {
	var b bytes.Buffer
	if left == nil {
		left = new(highlightFor)
	}
	if err := render.Parse(markdown).Render(writer{bufio.NewWriter(&b), left}, f.to); err != nil { // a buffer takes everything
		return template.HTML("<pre>" + html.EscapeString(markdown) + "</pre>") //nolint:gosec // it is escaped
	}
	return template.HTML(f.policy.SanitizeBytes(b.Bytes())) //nolint:gosec // that is what the policy is for
}

// plain is a text that is no Markdown, as people wrote it, with addresses as links.
func plain(text string) template.HTML {
	var b strings.Builder
	at := 0
	for _, found := range address.FindAllStringIndex(text, -1) {
		link := strings.TrimRight(text[found[0]:found[1]], ".,;:!?)'\"")
		b.WriteString(html.EscapeString(text[at:found[0]]))
		escaped := html.EscapeString(link)
		b.WriteString(`<a href="` + escaped + `" rel="nofollow noreferrer noopener" target="_blank">` + escaped + `</a>`)
		at = found[0] + len(link)
	}
	b.WriteString(html.EscapeString(text[at:]))
	return template.HTML(b.String()) //nolint:gosec // it is escaped
}

var address = regexp.MustCompile(`https?://[^\s<>"]+`)

// A writer is what the library's renderers write a text to.
type writer struct {
	*bufio.Writer
	left *time.Duration // for how long code may still be highlighted
}

// nodes writes what the library's renderers write otherwise.
type nodes struct{ *formatter }

// RegisterFuncs implements renderer.NodeRenderer.
func (n *nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, n.code)
	r.Register(ast.KindCodeBlock, n.code)
	r.Register(ast.KindHTMLBlock, n.htmlBlock)
	r.Register(ast.KindRawHTML, n.rawHTML)
	r.Register(ast.KindImage, n.image)
	r.Register(ast.KindLink, n.link)
	r.Register(render.KindSpoiler, around(`<span class="spoiler">`, `</span>`))
}

func around(before, after string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(before)
		} else {
			_, _ = w.WriteString(after)
		}
		return ast.WalkContinue, nil
	}
}

// code writes a block with its language and a place for the button that copies it.
func (n *nodes) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := ""
	if fenced, ok := node.(*ast.FencedCodeBlock); ok {
		language = string(fenced.Language(source))
	}
	code := string(node.Lines().Value(source))
	_, _ = w.WriteString(`<div class="code"><span class="lang">` + html.EscapeString(language) + `</span><pre tabindex="0"><code>`)
	began, left := time.Now(), w.(writer).left
	highlight(w, language, code, began.Add(min(*left, highlightFor)))
	*left -= time.Since(began)
	_, _ = w.WriteString("</code></pre></div>\n")
	return ast.WalkSkipChildren, nil
}

// htmlBlock and rawHTML show what somebody wrote, which is no markup of ours.
func (n *nodes) htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		block := node.(*ast.HTMLBlock)
		text := string(block.Lines().Value(source))
		if block.HasClosure() {
			text += string(block.ClosureLine.Value(source))
		}
		_, _ = w.WriteString("<p>" + html.EscapeString(strings.TrimSpace(text)) + "</p>\n")
	}
	return ast.WalkSkipChildren, nil
}

func (n *nodes) rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		tag := string(node.(*ast.RawHTML).Segments.Value(source))
		if lineBreak.MatchString(tag) {
			tag = "<br>"
		} else {
			tag = html.EscapeString(tag)
		}
		_, _ = w.WriteString(tag)
	}
	return ast.WalkSkipChildren, nil
}

var lineBreak = regexp.MustCompile(`(?i)^<br\s*/?>$`)

// image writes a link: pictures of elsewhere would tell their owner who reads.
func (n *nodes) image(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	return n.anchor(w, node.(*ast.Image).Destination, entering)
}

func (n *nodes) link(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	return n.anchor(w, node.(*ast.Link).Destination, entering)
}

func (n *nodes) anchor(w util.BufWriter, destination []byte, entering bool) (ast.WalkStatus, error) {
	to := string(destination)
	if id, ok := render.AttachmentID(to); ok {
		to = n.url("/files/" + url.PathEscape(id))
	} else if u, err := url.Parse(to); err != nil || u.Scheme == "" { // a path would lead to pages of ours
		return ast.WalkContinue, nil
	}
	if entering {
		_, _ = w.WriteString(`<a href="` + html.EscapeString(to) + `">`)
	} else {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// Lexers of the languages that are written most. The library's own package of them takes 20 ms of each start and 3 MB, needed or not.
//
//go:embed lexers/*.xml
var lexerFiles embed.FS

// lexers are read when code is shown first.
var lexers = sync.OnceValue(func() *chroma.LexerRegistry {
	r := chroma.NewLexerRegistry()
	names, _ := fs.Glob(lexerFiles, "lexers/*.xml") // the pattern is right
	for _, name := range names {
		if l, err := chroma.NewXMLLexer(lexerFiles, name); err == nil { // a test holds that it is
			r.Register(l)
		}
	}
	return r
})

// highlight writes code with classes for what its words are; plain where the language is not known, and from an instant on.
func highlight(w io.Writer, language, code string, until time.Time) {
	written := 0
	write := func(s string) { _, _ = io.WriteString(w, s) }
	defer func() { write(html.EscapeString(code[written:])) }()
	if language == "" || len(code) > highlightMost || !time.Now().Before(until) {
		return
	}
	lexer := lexers().Get(language)
	if lexer == nil {
		return
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return
	}
	for time.Now().Before(until) {
		token := tokens()
		if token == chroma.EOF || !strings.HasPrefix(code[written:], token.Value) { // some lexers end a text with a line break of their own
			return
		}
		if class := classOf(token.Type); class != "" {
			write(`<span class="` + class + `">` + html.EscapeString(token.Value) + `</span>`)
		} else {
			write(html.EscapeString(token.Value))
		}
		written += len(token.Value)
	}
}

// classOf is one of a few classes, so that the style sheet stays small.
func classOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InCategory(chroma.Keyword):
		return "k"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "m"
	case t == chroma.NameFunction || t == chroma.NameTag || t == chroma.NameClass:
		return "n"
	case t == chroma.NameAttribute || t == chroma.NameBuiltin:
		return "b"
	case t == chroma.GenericInserted:
		return "gi"
	case t == chroma.GenericDeleted:
		return "gd"
	}
	return ""
}
