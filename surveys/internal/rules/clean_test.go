package rules_test

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// TestClean follows management.md §9.3 and §15.2, item 11.
func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"words", "How likely are you to recommend us?", "How likely are you to recommend us?"},
		{"an ampersand and a heart", "Tom & Jerry <3", "Tom & Jerry <3"},
		{"a comparison", "a < b", "a < b"},
		{"a comparison of numbers", "1<2>0", "1<2>0"},
		{"quotes", `"quotes" and 'quotes'`, `"quotes" and 'quotes'`},
		{"entities", "&lt;b&gt; &amp; &nbsp;", "&lt;b&gt; &amp; &nbsp;"},
		{"blanks and lines", " a\r\n\tb ", " a\r\n\tb "},
		{"a < at the end", "less is <", "less is <"},
		{"a < before what is not a letter", "<é <ж <_ <- <= << <>", "<é <ж <_ <- <= << <>"},
		{"a tag that never ends", "Is a<b?", "Is a< b?"},
		{"tags that never end", "a <b <c </d <", "a < b < c < /d <"},
		{"a tag that never ends, with a script", `<img src=x onerror=alert(1) `, `< img src=x onerror=alert(1) `},
		{"a tag that never ends, after one", `<b>x</b> "y" & <i`, `<b>x</b> "y" &amp; &lt; i`},
		{"an end tag that never begins", "a </ b", "a < / b"},
		{"an end tag without a name", "a </", "a < /"},
		{"a comment that never ends", "I <!-- you <? too", "I < !-- you < ? too"},

		{"formats", "<b>Hi</b> <em>there</em><br>", "<b>Hi</b> <em>there</em><br>"},
		{"quotes beside markup", `<p>Don't "x" & 1 < 2 > 0</p>`, `<p>Don't "x" &amp; 1 &lt; 2 &gt; 0</p>`},
		{"entities beside markup", "<p>&lt;script&gt; &amp;#34; &copy;</p>", "<p>&lt;script&gt; &amp;#34; ©</p>"},
		{"lists and tables", "<ul><li>a</li></ul><table><tr><td>1</td></tr></table>", "<ul><li>a</li></ul><table><tr><td>1</td></tr></table>"},
		{"attributes of the list", `<p lang="de" title="Hallo" width="10" height="5%">x</p>`, `<p lang="de" title="Hallo" width="10" height="5%">x</p>`},
		{"other attributes", `<p class="x" data-x="1" contenteditable>x</p>`, `<p>x</p>`},
		{"a style", `<span style="color: RED; font:bold 12px 'Open Sans',serif;">x</span>`, `<span style="color: RED; font:bold 12px &#39;Open Sans&#39;,serif;">x</span>`},
		{"a style with a function", `<p style="background-color:rgba(1,2,3,.5)">x</p>`, `<p style="background-color:rgba(1,2,3,.5)">x</p>`},
		{"a style that covers the page", `<div style="position:fixed;top:0;color:#fff">x</div>`, `<div>x</div>`},
		{"a style that loads", `<p style="background:url(https://example.com/x)">x</p>`, `<p>x</p>`},
		{"disguised", `<p style="background:u\72l(/x)">x</p><p style="color:red/**/;x:y">x</p><p style="color:red;p\6fsition:fixed">x</p>`, `<p>x</p><p>x</p><p>x</p>`},
		{"an image", `<img src="https://example.com/a.png" alt="a">`, `<img src="https://example.com/a.png" alt="a">`},

		{"a link", `<a href="https://example.com/?a=1&b=2">x</a>`, `<a href="https://example.com/?a=1&amp;b=2" rel="noopener">x</a>`},
		{"a link with a target", `<a href="/x" target="_blank" rel="opener">x</a>`, `<a href="/x" target="_blank" rel="noopener">x</a>`},
		{"a link with another target", `<a href="/x" target="_top">x</a>`, `<a href="/x" rel="noopener">x</a>`},
		{"a link to write or call", `<a href="mailto:a@example.com">x</a><a href="tel:+431">y</a>`, `<a href="mailto:a@example.com" rel="noopener">x</a><a href="tel:+431" rel="noopener">y</a>`},
		{"an area", `<map name="m"><area href="/x" rel="opener"></map>`, `<map name="m"><area href="/x" rel="noopener"></map>`},
		{"an area that is not a link", `<area rel="x">`, `<area rel="x">`},

		{"a script", `a<script>alert(1)</script>b`, `ab`},
		{"a script that never ends", `a<script>alert(1)`, `a`},
		{"a frame", `a<iframe src="https://example.com"></iframe>b`, `ab`},
		{"an event handler", `<img src="/x" onerror="alert(1)">`, `<img src="/x">`},
		{"an address that runs a script", `<a href="javascript:alert(1)">x</a>`, `x`},
		{"disguised", `<a href=" java&#10;script:alert(1)">x</a><a href="&#x1;javascript:alert(1)">y</a>`, `xy`},
		{"of data", `<img src="data:image/svg+xml;base64,PHN2Zz4=">`, ``},
		{"a form", `<form action="/x"><input name="password"><button>Go</button></form>`, `Go`},
		{"drawings", `<svg onload="alert(1)"><style><img src=x onerror=alert(1)></style></svg>`, ``},
		{"a comment", `a<!-- b -->c`, `ac`},
		{"a declaration", `<!DOCTYPE html>a<?php b ?>c`, `ac`},
		{"a style sheet", `<style>* {display:none}</style>a<link rel="stylesheet" href="/x">`, `a`},
		{"base and meta", `<base href="https://example.com"><meta http-equiv="refresh" content="0">a`, `a`},
		{"a script in an attribute of noscript", `<noscript><p title="</noscript><img src=x onerror=alert(1)>">`, `<img src="x">"&gt;`},
		{"upper case", `<SCRIPT>alert(1)</SCRIPT><B ONCLICK=x>y</B>`, `<b>y</b>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := rules.Clean(tt.text)
			if got != tt.want {
				t.Errorf("Clean(%q) = %q, want %q", tt.text, got, tt.want)
			}
			checkClean(t, got)
		})
	}
}

// checkClean checks that a text is clean for a browser, both alone and with
// something after it.
func checkClean(t *testing.T, clean string) {
	t.Helper()
	if again := rules.Clean(clean); again != clean {
		t.Errorf("Clean(%q) = %q, want no change", clean, again)
	}
	for _, s := range []string{clean, "<div>" + clean + `<p title=">">x</p></div>`} {
		doc, err := html.Parse(strings.NewReader(s))
		if err != nil {
			t.Fatalf("Parse(%q) = %v", s, err)
		}
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			switch n.Data {
			case "script", "iframe", "frame", "object", "embed", "style", "link", "meta", "base", "form", "input", "button", "svg", "math", "template", "noscript":
				t.Errorf("%q has an element %s", s, n.Data)
			}
			checkAttributes(t, s, n)
		}
	}
}

func checkAttributes(t *testing.T, s string, n *html.Node) {
	t.Helper()
	rel, link := "", false
	for _, a := range n.Attr {
		switch {
		case strings.HasPrefix(a.Key, "on"):
			t.Errorf("%q has a handler %s", s, a.Key)
		case a.Key == "href", a.Key == "src", a.Key == "cite", a.Key == "action":
			link = link || a.Key == "href"
			if scheme := schemeOf(a.Val); scheme != "" && scheme != "https" && scheme != "http" && scheme != "mailto" && scheme != "tel" {
				t.Errorf("%q has an address with scheme %s", s, scheme)
			}
		case a.Key == "style":
			if low := strings.ToLower(a.Val); strings.Contains(low, "position") || strings.Contains(low, "url(") || strings.Contains(low, "expression") {
				t.Errorf("%q has style %q", s, a.Val)
			}
		case a.Key == "rel":
			rel = a.Val
		}
	}
	if link && rel != "noopener" {
		t.Errorf("%q has a link with rel %q", s, rel)
	}
}

// schemeOf reads the scheme of an address as browsers do: they ignore control
// characters at its ends, and all line breaks and tabs (WHATWG URL §4.4).
func schemeOf(address string) string {
	address = strings.TrimFunc(address, func(r rune) bool { return r <= ' ' })
	address = strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(address)
	scheme, _, found := strings.Cut(address, ":")
	if !found || strings.ContainsAny(scheme, "/?#") {
		return ""
	}
	if u, err := url.Parse(scheme + "://x"); err == nil {
		return u.Scheme
	}
	return strings.ToLower(scheme)
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"Tom & Jerry <3", "a<b", `<a href="java&#13;script:x" rel=x target=_blank>y</a>`, `<p style="color:red;background:u\72l(x)">`,
		`<svg><style><!--</style><img src=x onerror=alert(1)>-->`, `<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>`,
		`<a><a href=x></a></a>`, `<textarea><b>`, `</title><xmp><plaintext>`, `<font color=red><center>`, "<x\x00 on\x00=1>", `<area rel="a"><map name=x>`,
		`<img src="//x" srcset="javascript:x 1x">`, `<object></object></object><object>x`, `<q cite="javascript:x">`, "<b>\r&#13;\xff</b>", `<a href="http://[x" title='"><script>'>`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean := rules.Clean(s)
		checkClean(t, clean)
		z := html.NewTokenizer(strings.NewReader(s))
		for z.Next() == html.TextToken {
		}
		if z.Token().Type == html.ErrorToken && len(z.Raw()) == 0 && !strings.HasSuffix(s, "</") && clean != s {
			t.Errorf("Clean(%q) = %q, but it has no markup", s, clean)
		}
	})
}
