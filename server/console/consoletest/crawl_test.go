package consoletest

import (
	"html"
	"strings"
	"testing"
)

func TestHarmless(t *testing.T) {
	for _, v := range Vectors {
		for _, page := range []string{"<p>" + v + "</p>", `<a href="` + v + `">x</a>`, `<input value='` + v + `'>`} {
			if strings.Contains(v, "<") && harmless(page) == "" {
				t.Errorf("%s is not found", page)
			}
		}
		if fault := harmless("<p>" + html.EscapeString(v) + "</p>"); fault != "" {
			t.Errorf("%s: %s", v, fault)
		}
	}
	for _, page := range []string{
		`<a href="javascript:alert(1)">`, `<a href="//evil.example">`, `<p onclick="x">`, `<p style="x">`, `<script>`,
		`<form action="https://evil.example">`, `<a href="/evil">`,
	} {
		if harmless(page) == "" {
			t.Errorf("%s is not found", page)
		}
	}
}
