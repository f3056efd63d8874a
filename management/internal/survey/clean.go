package survey

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
)

// harmlessStyle is a style about the look of a text, with nothing that could lay
// it over the page or load something: properties with words, numbers and colors.
// The policy's own rules for styles are not used, because their time is not linear
// in the length of a style.
var harmlessStyle = regexp.MustCompile(`(?i)^\s*(?:(?:` +
	`color|opacity|display|float|clear|cursor|gap|width|height|(?:min|max)-(?:width|height)|` +
	`(?:background|border|flex|font|list-style|margin|overflow|padding|text|word)(?:-[a-z-]+)?|` +
	`(?:align|justify)-[a-z]+|letter-spacing|line-height|vertical-align|white-space)` +
	`\s*:(?:[-+a-z0-9#.,%!'"\s]|\b(?:rgb|hsl)a?\([-+a-z0-9.,%/\s]*\))+(?:;\s*|$))+$`)

// policy is the allow-list of management.md §9.3.
var policy = func() *bluemonday.Policy {
	p := bluemonday.UGCPolicy()
	p.RequireNoFollowOnLinks(false)
	p.AllowURLSchemes("tel")
	p.AllowElements("address", "center", "footer", "header", "kbd", "nav")
	p.AllowAttrs("width", "height").Matching(bluemonday.NumberOrPercent).Globally()
	p.AllowAttrs("style").Matching(harmlessStyle).Globally()
	p.AllowAttrs("target").Matching(regexp.MustCompile(`^_blank$`)).OnElements("a")
	return p
}()

// tagOpen finds where markup begins. In HTML text nothing else does: a < before
// any other character stands for itself (WHATWG HTML §13.2.5.6).
var tagOpen = regexp.MustCompile(`<([A-Za-z/!?])`)

// Clean removes from a text what must not get into the pages of others: scripts,
// frames, forms, event handlers, addresses that run scripts. Links get
// rel="noopener". A text without markup is returned as it is; what has markup is
// HTML, with &, < and > in its text escaped. Cleaning again changes nothing.
func Clean(s string) string {
	if !tagOpen.MatchString(s) {
		return s
	}
	s = splitOpenTag(s)
	if !tagOpen.MatchString(s) {
		return s
	}
	return finish(policy.Sanitize(s))
}

// splitOpenTag makes text of a tag or comment that never ends, as there seems to
// be in "is a<b?". A browser would take it for one as soon as something follows,
// and the policy would lose it.
func splitOpenTag(s string) string {
	whole := 0
	z := html.NewTokenizer(strings.NewReader(s))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind == html.CommentToken && !bytes.HasSuffix(z.Raw(), []byte(">")) {
			break
		}
		whole += len(z.Raw())
	}
	if strings.HasSuffix(s, "</") { // text, until something follows
		whole = min(whole, len(s)-len("</"))
	}
	return s[:whole] + tagOpen.ReplaceAllString(s[whole:], "< $1")
}

// quotes are escaped by the policy in text as well, where it makes them only
// harder to read.
var quotes = strings.NewReplacer("&#34;", `"`, "&#39;", "'")

// finish does to cleaned HTML what the policy cannot.
func finish(s string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			quotes.WriteString(&b, string(z.Raw()))
		case html.StartTagToken, html.SelfClosingTagToken:
			raw := string(z.Raw())
			if t := z.Token(); withoutOpener(&t) {
				raw = t.String()
			}
			b.WriteString(raw)
		default:
			b.Write(z.Raw())
		}
	}
}

// withoutOpener gives the target of a link no access to the page. It reports
// whether the element is a link.
func withoutOpener(t *html.Token) bool {
	if !slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "href" }) {
		return false
	}
	t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "rel" })
	t.Attr = append(t.Attr, html.Attribute{Key: "rel", Val: "noopener"})
	return true
}
