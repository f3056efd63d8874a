package rules

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
)

// harmlessStyle matches styles that only change the look of a text: properties
// whose values are words, numbers and colors. Nothing in them can lay the text
// over the page or load a resource. bluemonday's own rules for styles are not
// used, because their time is not linear in the length of the style.
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

// tagOpen finds the beginning of markup in HTML text. A < before any other
// character stands for itself (WHATWG HTML §13.2.5.6).
var tagOpen = regexp.MustCompile(`<([A-Za-z/!?])`)

// Clean removes from a text whatever must not get into another site's pages:
// scripts, frames, forms, event handlers, and addresses that run scripts. Links
// get rel="noopener". A text without markup is returned unchanged. A text with
// markup is HTML, so &, < and > in it are escaped. Cleaning twice changes
// nothing more.
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

// splitOpenTag makes a tag or comment that never ends into text, such as the
// apparent tag in "is a<b?". A browser would read it as a tag as soon as
// something follows, and the policy would remove it.
func splitOpenTag(s string) string {
	whole := 0
	z := html.NewTokenizer(strings.NewReader(s))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind == html.CommentToken && !bytes.HasSuffix(z.Raw(), []byte(">")) {
			break
		}
		whole += len(z.Raw())
	}
	if strings.HasSuffix(s, "</") { // this is text until something follows
		whole = min(whole, len(s)-len("</"))
	}
	return s[:whole] + tagOpen.ReplaceAllString(s[whole:], "< $1")
}

// quotes undoes the policy's escapes of quotation marks in text, where they
// only make it harder to read.
var quotes = strings.NewReplacer("&#34;", `"`, "&#39;", "'")

// finish makes the changes to cleaned HTML that the policy cannot make.
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

// withoutOpener denies the target of a link access to the page. It reports
// whether the element is a link.
func withoutOpener(t *html.Token) bool {
	if !slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "href" }) {
		return false
	}
	t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "rel" })
	t.Attr = append(t.Attr, html.Attribute{Key: "rel", Val: "noopener"})
	return true
}
