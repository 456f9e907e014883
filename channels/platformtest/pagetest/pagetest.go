// Package pagetest opens the page of a fake platform in a real Chromium and does there what
// people do, for tests.
package pagetest

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"switchboard/internal/testkit"
)

// Open opens a fake platform's page in a real Chromium, which CI must have.
func Open(t *testing.T, url string) Page {
	t.Helper()
	p := Start(t)
	p.Run(chromedp.Navigate(url))
	p.Await("a chat", "here.user && here.chat") // what is said before has no place
	return p
}

// chromium is the browser of a process's tests.
var chromium struct {
	once sync.Once
	ctx  context.Context //nolint:containedctx // the browser's
	end  func()
	err  error
}

// Quit ends the browser, if there is one; TestMain calls it before it looks for what is left.
func Quit() {
	if chromium.end != nil {
		chromium.end()
	}
}

// start starts Chromium at that path.
func start(path string) {
	dir, err := os.MkdirTemp("", "chromium-*")
	if err != nil {
		chromium.err = err
		return
	}
	allocated, leave := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.Headless, chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(2*time.Minute), // a busy machine starts it slowly
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.WindowSize(1200, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Env("LANG=C.UTF-8")) // or it finds no file whose name is not ASCII
	ctx, cancel := chromedp.NewContext(allocated)
	chromium.ctx, chromium.err = ctx, chromedp.Do(ctx)
	chromium.end = func() {
		cancel()
		leave()
		os.RemoveAll(dir)
	}
}

// Start is an empty page of somebody who has opened nothing yet, in a real Chromium, which CI must have.
func Start(t *testing.T) Page {
	t.Helper()
	path := ""
	// The first is the same engine without windows, which takes half the processor's time.
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no chromium; CI must have one (Debian's package chromium)")
		}
		t.Skip("SKIPPED: there is no chromium on PATH, so THE PAGE IS NOT TRIED; install Debian's package chromium")
	}
	chromium.once.Do(func() { start(path) })
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	return open(t, chromium.ctx, chromedp.WithNewBrowserContext())
}

// Tab is another page of the same browser, which knows who is signed in.
func (p Page) Tab() Page {
	p.t.Helper()
	return open(p.t, p.ctx)
}

func open(t *testing.T, browser context.Context, how ...chromedp.ContextOption) Page {
	ctx, cancel := chromedp.NewContext(browser, how...)
	t.Cleanup(cancel)
	p := Page{t, ctx, &faults{}}
	if err := chromedp.Listen(ctx, p.faults.hear); err != nil {
		t.Fatal(err)
	}
	p.Run(chromedp.Navigate("about:blank"))
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	p.ctx = ctx
	return p
}

// faults are what went wrong in a page.
type faults struct {
	mu   sync.Mutex
	list []string
}

func (f *faults) hear(event any) {
	said := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		said = "exception: " + e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			said += " " + x.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			said = "console: " + e.Entry.Text + " " + e.Entry.URL
		}
	case *page.EventJavascriptDialogOpening:
		said = "dialog: " + e.Message
	default:
		return
	}
	if said == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, said)
}

// Faults are the errors on the console so far, and the requests that failed.
func (p Page) Faults() []string {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	return slices.Clone(p.faults.list)
}

// A Page is the page in the browser.
type Page struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // the browser's
	faults *faults
}

// Context is the browser's.
func (p Page) Context() context.Context { return p.ctx }

// tell comes before every script: last("bot") is the newest message of that class.
const tell = `const last = (who) => [...document.querySelectorAll("#messages > li." + who)].at(-1);`

// Run has the browser do something.
func (p Page) Run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// Do runs a script, which must not fail.
func (p Page) Do(script string) {
	p.t.Helper()
	if !p.Is("((() => {" + script + "})(), true)") {
		p.t.Fatalf("cannot do %s", script)
	}
}

// Is evaluates a condition; what throws is not there yet, nor is what stands on a page that the browser leaves.
func (p Page) Is(condition string) bool {
	p.t.Helper()
	is, err := evaluate[bool](p, "(() => { try { return !!("+condition+") } catch { return false } })()")
	if err != nil && !strings.Contains(err.Error(), "navigated") {
		p.t.Fatal(err)
	}
	return is
}

// Evaluate returns what a script is.
func Evaluate[T any](p Page, script string) T {
	p.t.Helper()
	v, err := evaluate[T](p, script)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func evaluate[T any](p Page, script string) (T, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[T]("(() => {"+tell+"return "+script+"})()"))
}

// Await waits until a condition holds; what throws is not there yet.
func (p Page) Await(what, condition string) {
	p.t.Helper()
	for began := time.Now(); !p.Is(condition); time.Sleep(min(max(40*time.Millisecond, time.Since(began)/20), 400*time.Millisecond)) {
		if time.Since(began) > testkit.Patience {
			p.t.Fatalf("%s did not come; the page shows\n%s", what, Evaluate[string](p, "document.body.innerText"))
		}
	}
}

// Say writes a text and sends it. It is put in at once, as from a clipboard: to type a long one key by key
// takes the browser half a minute.
func (p Page) Say(text string) {
	p.t.Helper()
	p.Run(chromedp.Focus("#text"), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}), chromedp.SendKeys("#text", kb.Enter))
}

// Shoot keeps pictures of the page in the folder of the variable, to be looked at, in these looks; none: in all.
func (p Page) Shoot(name string, looks ...string) {
	p.t.Helper()
	dir := os.Getenv("PAGETEST_SHOTS")
	if dir == "" {
		return
	}
	p.Looks(func(look string) {
		if len(looks) > 0 && !slices.Contains(looks, look) {
			return
		}
		data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			data, err = small(data)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+look+".png"), data, 0o600); err != nil {
			p.t.Fatal(err)
		}
	})
}

// small is a picture in 256 colours at most: the commonest, and of others that are like each other the commonest.
func small(data []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	at, to := from.Bounds(), image.NewPaletted(from.Bounds(), nil)
	count, have := map[color.Color]int{}, map[[3]uint32]bool{}
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			count[from.At(x, y)]++
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return count[b] - count[a] }) {
		r, g, b, _ := c.RGBA()
		if like := [3]uint32{r >> 12, g >> 12, b >> 12}; len(to.Palette) < 32 || !have[like] && len(to.Palette) < 256 {
			have[like], to.Palette = true, append(to.Palette, c)
		}
	}
	draw.Draw(to, at, from, at.Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}

// Looks has something done with the page as it looks by day, by night, and so on a telephone.
func (p Page) Looks(do func(look string)) {
	p.t.Helper()
	for _, look := range []struct {
		name, scheme string
		width        int64
	}{{"day", "light", 1200}, {"night", "dark", 1200}, {"phone", "light", 390}, {"phone-night", "dark", 390}} {
		p.Run(chromedp.EmulateViewport(look.width, 844), scheme(look.scheme))
		do(look.name)
	}
	p.Run(chromedp.EmulateReset(), scheme(""))
}

// scheme is the one of colours that a person prefers.
func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}
