package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// taintWeb marks what came over http.
const taintWeb Taint = "web"

const maxRedirects = 5

var (
	errScheme    = errors.New("only http and https addresses can be fetched")
	errRedirects = fmt.Errorf("more than %d redirects", maxRedirects)
)

// privateError says that an address is not public.
type privateError struct{ addr netip.Addr }

func (e *privateError) Error() string { return fmt.Sprintf("%s is not a public address", e.addr) }

// fetcher is the tool http.get. It keeps no connection, cookie or cache.
type fetcher struct {
	client *http.Client
	limit  int64
}

// newFetcher returns a fetcher that reaches public addresses and those in
// allowed. Each connection's address is checked as it is made, after the name
// was resolved, so that neither a redirect nor a changed DNS answer gets past. A
// redirect is followed wherever it leads: who sends it knows no more than the URL that
// was asked for, and the policy gate judged that.
func newFetcher(allowed []netip.Prefix, limit int64) *fetcher {
	dialer := &net.Dialer{
		Timeout: 15 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("check %s: %w", address, err)
			}
			return checkAddr(at.Addr(), allowed)
		},
	}
	return &fetcher{limit: limit, client: &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // one from the environment would connect in our place
			DialContext:            dialer.DialContext,
			DisableKeepAlives:      true,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    15 * time.Second,
			ResponseHeaderTimeout:  30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errRedirects
			}
			next.Header.Del("Referer") // where it comes from is nobody's business, the query least of all
			return checkURL(next.URL)
		},
	}}
}

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errScheme
	case u.Hostname() == "":
		return errors.New("the address names no host")
	case u.User != nil:
		return errors.New("an address with a user name or password in it is not fetched")
	}
	return nil
}

func (f *fetcher) run(ctx context.Context, call Call, args struct {
	URL      string
	MaxBytes int64 `json:"max_bytes"`
},
) Result {
	const hint = "give a complete public address such as https://example.org/page"
	target, err := url.Parse(strings.TrimSpace(args.URL))
	if err != nil {
		return refused("bad_url", hint, "%q is not an address", args.URL)
	}
	if err := checkURL(target); err != nil {
		return refused("bad_url", hint, "%v", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return refused("bad_url", hint, "%q is not an address", args.URL)
	}
	req.Header.Set("User-Agent", "switchboard")
	req.Header.Set("Accept", "text/*, application/json, application/xml;q=0.9")
	resp, err := f.client.Do(req)
	if err != nil {
		return fetchFault(err)
	}
	defer resp.Body.Close()
	return answer(resp, min(f.limit, cmp.Or(args.MaxBytes, f.limit)))
}

// answer turns a response into a result of at most limit bytes of body.
func answer(resp *http.Response, limit int64) Result {
	kind := resp.Header.Get("Content-Type")
	peek, err := io.ReadAll(io.LimitReader(resp.Body, 512))
	if err != nil {
		return fetchFault(err)
	}
	if kind == "" {
		kind = http.DetectContentType(peek)
	}
	if !isText(kind) {
		return Result{
			End: EndError, Code: "not_text", Taint: taintWeb, Hint: "only text can be fetched; look for a text or HTML version",
			Output: fmt.Sprintf("the address holds %s", kind),
		}
	}
	whole := io.MultiReader(bytes.NewReader(peek), resp.Body)
	data, err := io.ReadAll(io.LimitReader(whole, limit+1))
	if err != nil {
		return fetchFault(err)
	}
	cut := int64(len(data)) > limit
	if cut {
		data = data[:limit]
	}
	res := Result{End: EndOK, Taint: taintWeb}
	res.Output = fmt.Sprintf("status: %s\nurl: %s\ntype: %s\n\n%s", resp.Status, resp.Request.URL, kind, readable(kind, data))
	if cut {
		res.Output = joinMark(res.Output, fmt.Sprintf("[truncated: only the first %d bytes were fetched]", limit), "")
	}
	if resp.StatusCode >= http.StatusBadRequest {
		res.End, res.Code, res.Hint = EndError, "http_status", "the server refused; check the address or try another source"
	}
	return res
}

func isText(kind string) bool {
	media, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return false
	}
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/x-ndjson", "application/yaml", "application/toml":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml")
}

// readable makes UTF-8 of the usual character sets, and text of HTML.
func readable(kind string, data []byte) string {
	media, params, err := mime.ParseMediaType(kind)
	text := string(data)
	if err != nil {
		return text
	}
	switch strings.ToLower(params["charset"]) {
	case "iso-8859-1", "latin1", "windows-1252":
		runes := make([]rune, len(data))
		for i, b := range data {
			runes[i] = rune(b)
		}
		text = string(runes)
	}
	text = cleanText(text)
	if media == "text/html" || media == "application/xhtml+xml" {
		return htmlText(text)
	}
	return text
}

func fetchFault(err error) Result {
	private, isPrivate := errors.AsType[*privateError](err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isPrivate:
		res := refused("private_address", "only public addresses can be fetched; an admin can add networks to server.allow_private", "%v", private)
		res.Rule = "server.allow_private"
		return res
	case errors.Is(err, errScheme), errors.Is(err, errRedirects):
		return failed("bad_redirect", "try the final address directly", "the server's redirect was not followed: %v", lastCause(err))
	case isDNS:
		return failed("unknown_host", "check the spelling of the host", "the host %s was not found", dns.Name)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return failed("stopped", "", "the fetch was stopped")
	default:
		return failed("unreachable", "try later, or another source", "the address could not be fetched: %v", lastCause(err))
	}
}

// lastCause drops the method and address that package net/http puts in front.
func lastCause(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// special are networks that are not the public internet though netip's own
// questions do not say so. Those that wrap an IPv4 address (NAT64, 6to4, Teredo,
// the compatible form) are refused whole: they could wrap a private one.
//
// Source: IANA IPv4 and IPv6 Special-Purpose Address Registries.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16",
	"3fff::/20", "5f00::/16", "fec0::/10",
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// checkAddr returns a *privateError unless addr is public or in allowed. An
// IPv4 address in IPv6 form counts as the IPv4 address it is.
func checkAddr(addr netip.Addr, allowed []netip.Prefix) error {
	addr = addr.Unmap().WithZone("")
	has := func(prefix netip.Prefix) bool { return prefix.Contains(addr) }
	public := addr.IsGlobalUnicast() && !addr.IsPrivate() && !slices.ContainsFunc(special, has)
	if public || slices.ContainsFunc(allowed, has) {
		return nil
	}
	return &privateError{addr}
}
